"""Trains regard through its own parts: its batches, its loss, its optimizer."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as regard's command does, before torch is imported

import torch
from measuring import BETAS, DROPOUT, RATE, SMOOTHING, Job, Meter, given_job

from regard.allocator import keep_memory
from regard.config import Recipe, recipes
from regard.runs import initial_model
from regard.tasks.registry import find_task, prepare
from regard.tasks.translation.training import TranslationTraining
from regard.training.update import build_optimizer


def recipe_of(job: Job) -> Recipe:
    settings = json.loads((Path(job.data) / "recipe.json").read_text(encoding="utf-8"))
    settings["model"] = {
        "width": job.width,
        "feed_forward": job.feed_forward,
        "heads": job.heads,
        "encoder_layers": job.layers,
        "decoder_layers": job.layers,
        "dropout": DROPOUT,
    }
    settings["training"] = {"batch_tokens": job.batch_tokens, "label_smoothing": SMOOTHING, "betas": list(BETAS)}
    return recipes.parse(settings)


def main() -> None:
    job = given_job()
    torch.set_num_threads(job.threads)
    keep_memory()
    recipe = recipe_of(job)
    prepared = prepare(recipe, show=False)
    model = initial_model(recipe, find_task(recipe.task), prepared)[0].train()
    task = TranslationTraining(recipe, prepared, 1, torch.device("cpu"))
    optimizer = build_optimizer(model, recipe.training)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    meter, position, done = Meter(job), (0, 0), False
    while not done:
        (part,), position = task.take(position, 1)
        loss = task.loss(model, part.batch)
        (loss.smoothed / part.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), math.inf)  # regard's loop asks for the norm each time
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        done = meter.update(part.tokens, loss.plain.item() / part.tokens)
    meter.report(sum(each.numel() for each in model.parameters()), "regard", "torch")


if __name__ == "__main__":
    main()
