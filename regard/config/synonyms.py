"""What the field calls our settings: the paper, lectures, PyTorch, Hugging Face. Whoever writes such a name is told which
setting is meant, and where it counts something else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

LONGEST = 60  # characters of a name that somebody may have mistyped
NEAR = 0.8  # of a name that is misspelt


class Meaning(NamedTuple):
    """Settings that are meant, all of them that a recipe can have, and what there is to say of them."""

    settings: tuple[str, ...]
    reason: str
    names: tuple[str, ...]


_LAYERS = ("model.encoder_layers", "model.decoder_layers", "model.layers")
_MEANINGS = (
    Meaning(("model.width",), "the length of the vector that stands for one token, the paper's d_model", (
        "d_model", "dim", "model_dim", "hidden_size", "hidden_dim", "hidden", "n_embd", "embed_dim", "emb_dim", "emb_size",
        "embedding_dim", "embedding_size", "embedding_width", "units", "rnn_size", "input_dim", "d_embed", "model_width",
        "encoder_embed_dim", "decoder_embed_dim", "word_vec_size", "num_units", "hid_dim", "은닉 차원",
    )),
    Meaning(("model.feed_forward",), "the width of the hidden layer between two attentions, the paper's d_ff", (
        "d_ff", "ff_dim", "ffn_dim", "ff_size", "ffn_size", "ffn_hidden", "ffn", "d_inner", "n_inner", "nhid", "hidden_units",
        "intermediate_size", "dim_feedforward", "feedforward_dim", "feed_forward_size", "filter_size", "mlp_dim",
        "encoder_ffn_dim", "decoder_ffn_dim", "ffn_embed_dim", "conv_1d", "conv1d", "transformer_ff", "dff", "pf_dim", "enc_pf_dim",
        "dec_pf_dim", "mlp_ratio", "d_hid",
    )),
    Meaning(("model.heads",), "the number of attention heads, the paper's h", (
        "h", "n_heads", "n_head", "nhead", "num_heads", "num_attention_heads", "attention_heads", "encoder_attention_heads",
        "decoder_attention_heads", "head_count", "number_of_heads", "enc_heads", "dec_heads", "헤드 수",
    )),
    Meaning(_LAYERS, "the number of layers, the paper's N", (
        "n", "l", "층 수", "n_layers", "n_layer", "num_layers", "num_hidden_layers", "layers", "depth", "n_blocks", "num_blocks", "blocks",
        "number_of_layers",
    )),
    Meaning(("model.encoder_layers",), "layers that read the source", ("num_encoder_layers", "n_encoder_layers", "enc_layers")),
    Meaning(("model.decoder_layers",), "layers that write the target", ("num_decoder_layers", "n_decoder_layers", "dec_layers")),
    Meaning(("model.key_width",), "the length of a query and of a key in each head, the paper's d_k; 0 is width / heads", (
        "d_k", "d_key", "d_q", "d_head", "head_dim", "head_size", "head_width", "dim_head",
    )),
    Meaning(("model.value_width",), "the length of a value in each head, the paper's d_v; 0 is width / heads", (
        "d_v", "d_value", "vdim",
    )),
    Meaning(("model.dropout",), "the share of embeddings and of what layers pass on that is dropped in training", (
        "dropout_rate", "drop_rate", "p_drop", "p_dropout", "dropout_prob", "dropout_p", "hidden_dropout_prob", "hidden_dropout",
        "resid_pdrop", "embd_pdrop", "residual_dropout", "drop", "enc_dropout", "dec_dropout", "드롭아웃",
    )),
    Meaning(("model.attention_dropout",), "the share of attention weights that is dropped in training", (
        "attention_probs_dropout_prob", "attn_pdrop", "attn_dropout", "attention_dropout_rate",
    )),
    Meaning(("model.embedding_dropout",), "the share of the embeddings that is dropped where words enter", (
        "emb_dropout", "embed_dropout", "input_dropout", "dropouti", "embd_dropout",
    )),
    Meaning(("model.output_dropout",), "the share of the last states that is dropped where words leave", ("dropouto", "final_dropout")),
    Meaning(("model.activation_dropout",), "the share of the feed-forward's hidden layer that is dropped in training", (
        "relu_dropout", "ffn_dropout", "activation_dropout_rate",
    )),
    Meaning(("model.max_positions", "data.max_tokens"), "the longest sequence that a model has positions for, and the longest "
        "that data hands it, both in tokens", (
        "max_len", "max_length", "max_position", "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_len",
        "max_sequence_length", "block_size", "context_length", "context_size", "maximum_length", "maxlen", "max_source_length",
        "max_target_length", "sequence_length", "bptt", "window_size", "src_max_len", "trg_max_len", "최대 길이",
    )),
    Meaning(("model.norm",), '"post" normalises after adding, as in the paper, "pre" before each sub-layer, "none" never', (
        "norm_first", "pre_norm", "prenorm", "post_norm", "normalize_before", "encoder_normalize_before", "layer_norm",
        "use_layer_norm", "normalization_order", "normalize_first", "layernorm",
    )),
    Meaning(("model.norm_epsilon",), "what layer normalisation adds to the variance", (
        "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "ln_eps", "eps", "epsilon",
    )),
    Meaning(("model.activation",), '"relu", "gelu" or "swish"', (
        "activation_function", "hidden_act", "act", "act_fn", "activation_fn", "nonlinearity",
    )),
    Meaning(("model.positions",), '"sinusoidal", "learned" or "none"', (
        "positional_encoding", "position_encoding", "positional_embedding", "position_embedding", "position_embedding_type",
        "pos_enc", "pos_encoding", "pe", "use_positions", "encoder_learned_pos", "decoder_learned_pos",
    )),
    Meaning(("model.tied",), "whether embeddings and output share one matrix", (
        "tie_word_embeddings", "tie_embeddings", "tie_weights", "weight_tying", "share_embeddings", "share_all_embeddings",
        "tied_embeddings", "share_decoder_input_output_embed",
    )),
    Meaning(("model.residual",), "whether a sub-layer's output is added to its input", (
        "skip", "skip_connection", "skip_connections", "residual_connection", "residual_connections", "use_residual",
    )),
    Meaning(("model.bias",), "whether linear layers of attention and feed-forward add one", (
        "use_bias", "attention_bias", "qkv_bias", "biases",
    )),
    Meaning(("model.scale",), "whether scores are divided by √d_k: β = 1 / (temperature · √d_k), and the temperature is 1 in training", (
        "scale_attention", "scaled", "scaling", "beta", "inverse_temperature", "scale_attn_weights", "use_scale",
    )),
    Meaning(("model.architecture",), "which model", ("arch", "type", "model_type", "model_name", "kind", "network")),
    Meaning((), "labels are those of the training text: nobody says how many there are", (
        "num_labels", "n_labels", "num_classes", "n_classes", "classes", "nb_classes", "label_count",
    )),
    Meaning((), 'it is model.architecture that reads both ways: "rnn-attention" does, and "rnn" reads from left to right', (
        "bidirectional", "bi_directional", "num_directions",
    )),
    Meaning((), 'other architectures have it: model.architecture = "conv"', ("kernel_size", "kernel_width", "kernel", "num_filters", "n_filters", "filters")),
    Meaning((), 'other architectures have it: model.architecture = "rnn" or "rnn-attention"', ("rnn_type", "cell_type", "rnn_cell", "cell")),
    Meaning(("model.positions",), '"sinusoidal", "learned" or "none"; positions of other kinds are plug-ins', (
        "rope", "rotary", "use_rope", "alibi", "relative_positions", "relative_attention_num_buckets",
    )),
    Meaning(("model.pooling",), "how a text's vectors become one", ("pool", "pooler", "pooling_type", "aggregation")),
    Meaning(("model.kernel",), "how many positions one convolution sees", ("kernel_size", "kernel_width")),
    Meaning(("model.cell",), "what carries a recurrent state", ("rnn_type", "cell_type", "rnn_cell")),
    Meaning(("training.learning_rate",), "the peak of the schedule, reached at the end of the warm-up", (
        "lr", "peak_lr", "max_lr", "learning_rate_init", "initial_lr", "base_lr", "eta", "step_size", "학습률",
    )),
    Meaning(("training.batch_tokens", "decoding.batch_tokens"), "it counts tokens and not sentences: 64 sentences of 25 tokens are "
        "1,600", (
        "batch_size", "train_batch_size", "per_device_train_batch_size", "batch", "bs", "minibatch_size", "mini_batch_size",
        "eval_batch_size", "batch_sentences", "배치 크기",
    )),
    Meaning(("training.batch_tokens",), "tokens of one update, over all processes", ("max_tokens", "tokens_per_batch", "batch_type")),
    Meaning(("training.updates",), "it counts updates and not passes over the text: one epoch is as many updates as the training "
        "text has tokens, divided by batch_tokens", (
        "epochs", "num_epochs", "n_epochs", "num_train_epochs", "max_epochs", "max_epoch", "epoch", "steps_per_epoch", "에폭", "에포크",
    )),
    Meaning(("training.updates",), "updates in all", (
        "steps", "max_steps", "num_steps", "n_steps", "train_steps", "total_steps", "iterations", "n_iters", "max_iters",
        "num_iterations", "max_updates", "max_update", "num_training_steps",
    )),
    Meaning(("training.warmup",), "it counts updates, over which the learning rate rises from zero", (
        "warmup_steps", "num_warmup_steps", "n_warmup", "n_warmup_steps", "warmup_updates", "warmup_ratio", "warm_up",
    )),
    Meaning(("training.label_smoothing",), "the share of the target's probability that is spread over all answers", (
        "smoothing", "label_smoothing_factor", "label_smooth", "ls", "epsilon_ls", "eps_ls",
    )),
    Meaning(("training.clip",), "the longest gradient; a longer one is scaled down", (
        "grad_clip", "gradient_clip", "gradient_clipping", "clip_norm", "clip_grad", "clip_grad_norm", "max_grad_norm",
        "gradient_clip_val",
    )),
    Meaning(("training.weight_decay",), "AdamW's, of matrices", ("wd", "l2", "decay", "l2_regularization", "weight_decay_rate")),
    Meaning(("training.epsilon",), "Adam's", ("eps", "adam_epsilon", "adam_eps")),
    Meaning(("training.betas",), "both in a list: betas = [0.9, 0.98]", (
        "beta1", "beta2", "adam_betas", "adam_beta1", "adam_beta2", "momentum",
    )),
    Meaning(("training.accumulate",), "micro-batches before an update", (
        "gradient_accumulation_steps", "accumulation", "accumulation_steps", "update_freq", "accum_steps", "grad_accum",
        "accumulate_grad_batches", "accum_count",
    )),
    Meaning(("training.schedule",), '"inverse-sqrt" (Noam\'s), "cosine", "linear" or "constant"', (
        "scheduler", "lr_scheduler", "lr_scheduler_type", "lr_schedule", "learning_rate_schedule", "noam", "decay_method",
    )),
    Meaning((), "there is one optimizer, AdamW; training.betas, training.epsilon and training.weight_decay are its settings", (
        "optimizer", "optim", "optimiser",
    )),
    Meaning(("training.seed",), "everything random follows from it", ("random_seed", "manual_seed", "random_state")),
    Meaning(("training.patience",), "validations without a better metric after which training stops", (
        "early_stopping", "early_stopping_patience", "early_stop",
    )),
    Meaning(("training.validate_every",), "it counts updates", (
        "eval_steps", "eval_every", "eval_interval", "val_interval", "validation_interval", "val_check_interval", "valid_every", "valid_steps",
        "eval_strategy", "evaluation_strategy",
    )),
    Meaning(("training.checkpoint_every",), "it counts updates", (
        "save_steps", "save_interval", "save_every", "checkpoint_interval", "save_checkpoint_steps",
    )),
    Meaning(("training.precision",), '"auto", "float32" or "bfloat16"', ("fp16", "bf16", "amp", "mixed_precision", "dtype", "half")),
    Meaning(("training.device",), '"auto", "cpu" or "cuda"', ("gpu", "cuda", "use_cuda", "accelerator", "use_gpu")),
    Meaning(("training.threads",), "CPU threads; 0 is one for each core", ("n_threads", "num_threads", "num_workers", "workers")),
    Meaning(("training.minutes",), "minutes spent on updates after which training stops", ("max_minutes", "time_limit", "max_time")),
    Meaning(("training.metric",), "what decides which weights are best", ("metric_for_best_model", "monitor", "best_metric", "best_checkpoint_metric")),
    Meaning(("training.word_dropout",), "the share of tokens that are hidden in training", ("token_dropout", "word_drop")),
    Meaning(("tokenizer.vocabulary",), "the size of the vocabulary", (
        "vocab_size", "vocab", "n_vocab", "num_words", "max_features", "vocabulary_size", "src_vocab_size", "tgt_vocab_size",
        "n_tokens", "num_tokens", "size", "max_vocab", "output_dim", "어휘 크기",
    )),
    Meaning(("tokenizer.kind",), '"bpe", "unigram", "words" or "characters"', ("type", "algorithm", "model_type", "tokenizer_type", "method")),
    Meaning(("tokenizer.coverage",), "the share of characters with a token of their own", ("character_coverage", "char_coverage")),
    Meaning(("tokenizer.joint",), "one vocabulary for both languages", (
        "shared", "share_vocab", "shared_vocab", "shared_vocabulary", "joined_dictionary", "joint_vocab",
    )),
    Meaning(("tokenizer.normalization",), 'a name that ends in _cf folds case, such as "nmt_nfkc_cf"', (
        "normalization_rule_name", "normalizer", "lowercase", "lower_case", "lower", "do_lower_case", "uncased",
    )),
    Meaning(("tokenizer.sample",), "lines that the tokenizer learns from", ("input_sentence_size", "sample_size")),
    Meaning(("decoding.beam",), "hypotheses kept side by side; 1 is greedy", (
        "beam_size", "beam_width", "num_beams", "n_beams", "k", "beams",
    )),
    Meaning(("decoding.alpha",), "the strength of the paper's length penalty", ("lenpen", "length_alpha", "len_penalty", "lp_alpha")),
    Meaning(("decoding.max_ratio", "decoding.max_extra"), "an output has at most max_ratio times the source's tokens plus max_extra", (
        "max_len", "max_length", "max_len_a", "max_len_b", "max_new_tokens", "max_output_length", "max_decode_length",
    )),
    Meaning(("decoding.no_repeat_ngram",), "the length of a run that is never written twice", ("no_repeat_ngram_size", "repetition_penalty")),
    Meaning((), "how an answer is drawn is an option of the verb and of Python: --sample, --temperature, --top-k, --top-p", (
        "temperature", "top_k", "top_p", "do_sample", "sampling", "nucleus",
    )),
    Meaning(("training.keep",), "which weights a run leaves", ("load_best_model_at_end", "save_best", "restore_best_weights")),
    Meaning(("training.average",), "the checkpoints whose mean is taken", ("keep_last_epochs", "save_total_limit", "n_checkpoints")),
    Meaning(("training.ema",), "the share of the running mean of the weights that is kept at each update", (
        "average_decay", "ema_decay", "moving_average_decay",
    )),
    Meaning((), "the rate rises from zero over training.warmup updates, and training.schedule says how it falls", (
        "min_lr", "warmup_init_lr", "final_lr", "lr_decay", "gamma",
    )),
    Meaning((), "linear layers start as Glorot and Bengio (2010) have it, and there is no setting", (
        "init", "init_range", "initializer_range", "initializer", "xavier", "glorot", "kernel_init", "bias_init", "weight_init",
    )),
    Meaning((), "the loss is cross entropy; training.label_smoothing softens it", ("criterion", "loss", "loss_fn", "loss_function")),
    Meaning((), "a decoder in training always reads the reference, all positions at once", ("teacher_forcing", "teacher_forcing_ratio")),
    Meaning((), "the first axis is always the batch's", ("batch_first", "time_major")),
    Meaning((), "every pass has an order of its own, which follows from training.seed", ("shuffle", "shuffle_buffer_size")),
    Meaning((), "the run folder is an option of the verb and of Python: --run DIR", ("output_dir", "save_dir", "save_model", "log_dir", "checkpoint_dir")),
    Meaning((), "processes are started by torchrun, which tells how many there are", ("world_size", "gpu_ranks", "n_gpu", "num_gpus")),
    Meaning((), "it is the other way round: model.dropout is the share that is dropped", ("keep_prob", "keep_probability")),
    Meaning(("model.cutoffs",), "ranks at which the adaptive softmax begins a new cluster", ("adaptive_softmax_cutoff", "adaptive_softmax_cutoffs")),
    Meaning(("model.adaptive_factor",), "by how many times words after each of model.cutoffs are narrower, where they enter and leave", (
        "adaptive_input", "adaptive_input_factor", "adaptive_softmax_factor", "div_val", "div_value",
    )),
    Meaning(("model.pointer",), "a mixture with the words that came before", ("copy_attn", "copy", "copy_attention", "pointer_generator")),
    Meaning(("model.input_feeding",), "whether the decoder reads its last mix again", ("input_feed",)),
    Meaning(("model.score",), '"additive" or "dot"', ("global_attention", "attention_type", "attention_score", "attn_type")),
    Meaning((), 'other architectures have it: model.architecture = "rnn-attention"', (
        "input_feed", "global_attention", "attention_type", "attention_score", "attn_type", "brnn",
    )),
    Meaning(("data.size",), "the side of a picture in pixels", ("image_size", "img_size", "resolution", "input_size")),
    Meaning(("data.colour",), "whether pictures have three channels or one", ("in_channels", "num_channels", "in_chans", "channels")),
    Meaning(("model.patch",), "the side of a square patch in pixels", ("patch_size",)),
    Meaning(("model.stochastic_depth",), "the share of layers that is skipped in training", (
        "drop_path", "drop_path_rate", "stochastic_depth_prob", "layer_dropout", "layerdrop",
    )),
    Meaning(("data.text",), "the column of the text, by number or name", ("text_column", "text_field", "text_col", "sentence", "sentence_column", "x")),
    Meaning(("data.label",), "the column of the label, by number or name", (
        "label_column", "label_field", "label_col", "labels", "target_field", "class", "y",
    )),
    Meaning(("tokenizer.vocabulary",), "the most frequent tokens are kept, as many as it says", ("min_freq", "min_frequency", "min_count", "max_words")),
    Meaning(("data.train",), "the files to train on", ("train_file", "train_files", "train_path", "training", "training_data", "train_set", "x_raw")),
    Meaning(("data.valid",), "the files to validate on", (
        "validation", "val", "dev", "dev_set", "valid_set", "validation_file", "validation_data", "validation_split",
    )),
    Meaning(("data.test",), "test sets by name: [data.test], then name = [\"FILE\"]", ("test_file", "test_files", "test_set", "test_data")),
    Meaning(("data.folder",), "where relative paths start", ("data_dir", "data_path", "root", "path", "dir", "directory")),
    Meaning(("training.subword_sampling",), "how freely training text is cut into tokens, anew in every epoch", (
        "bpe_dropout", "subword_regularization", "subword_regularisation", "sampling_alpha", "enable_sampling", "sentencepiece_alphas",
        "sampling", "subword_dropout",
    )),
    Meaning(("data.source_language",), "a label for people", ("src_lang", "source_lang", "src", "source", "src_language")),
    Meaning(("data.target_language",), "a label for people", ("tgt_lang", "target_lang", "tgt", "target", "tgt_language", "trg")),
)  # fmt: skip
_SECTIONS = {
    "training": ("train", "trainer", "optimizer", "optim", "optimization", "hyperparameters", "trainingarguments"),
    "model": ("network", "net", "architecture", "transformer", "encoder", "decoder"),
    "tokenizer": ("tokeniser", "vocab", "vocabulary", "tokenization", "bpe", "sentencepiece"),
    "data": ("dataset", "datasets", "corpus", "files"),
    "decoding": ("decode", "generation", "inference", "search", "beamsearch", "generate"),
}


def plain(name: str) -> str:
    """As it is compared: `n_heads`, `nHeads` and `n-heads` are one name."""
    return re.sub(r"[\W_]", "", name.lower())


def explain(section: str, key: str, known: Mapping[str, Collection[str]]) -> str:
    """` model.feed_forward is meant: …` for what the field calls a setting, ` Did you mean …?` for a slip, or nothing.

    `known` are the settings that a recipe can have, by section.
    """
    if len(key) > LONGEST:
        return ""
    names = {plain(name) for meaning in _MEANINGS for name in meaning.names}
    told = _explain(section, key, plain(key), known)
    if not told and (near := difflib.get_close_matches(key, known.get(section, ()), n=1, cutoff=0.6)):
        told = f" Did you mean '{section}.{near[0]}'?"
    if not told and len(key) > 3 and (near := difflib.get_close_matches(plain(key), names, n=1, cutoff=NEAR)):
        told = _explain(section, key, near[0], known)
    return told


def _explain(section: str, key: str, called: str, known: Mapping[str, Collection[str]]) -> str:
    meanings = [meaning for meaning in _MEANINGS if called in map(plain, meaning.names)]
    elsewhere = [f"{other}.{key}" for other, names in known.items() if key in names and other != section]
    if elsewhere and all(meaning.settings for meaning in meanings):  # of two things with one name, which is not known
        return f" {_meant(elsewhere)}: it stands in [{elsewhere[0].partition('.')[0]}]."
    existing = [(meaning, [name for name in meaning.settings if _is_known(name, known)]) for meaning in meanings]
    fitting = [(meaning, names) for meaning, names in existing if names or not meaning.settings]
    # What stands in this section comes first: `eps` of [training] is Adam's.
    fitting.sort(key=lambda each: not any(name.startswith(f"{section}.") for name in each[1]))
    for meaning, names in fitting:
        own = [name for name in names if name.startswith(f"{section}.")] or names
        return f" {_meant(own)}: {meaning.reason}." if own else f" {meaning.reason[0].upper()}{meaning.reason[1:]}."
    return ""


def explain_section(name: str, known: Mapping[str, Collection[str]]) -> str:
    """The same for what stands outside of every section: a section of another name, or a setting."""
    for section, names in _SECTIONS.items():
        if plain(name) in names and section in known:
            return f" [{section}] is meant."
    return explain("", name, known)


def _is_known(name: str, known: Mapping[str, Collection[str]]) -> bool:
    section, _, key = name.partition(".")
    return key in known.get(section, ())


def _meant(names: list[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} meant"
