"""How processes find each other and compare what they are about to do, with threads in place of processes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from torch.distributed import HashStore

from regard.errors import ProcessError
from regard.training.meeting import called, differences, meet, minutes
from tests.training.toy import PATIENCE, ROOT


def meeting(store: HashStore, count: int = 3) -> str:
    """All come at once → the name of the meeting."""
    with ThreadPoolExecutor(count) as pool:
        (name,) = set(pool.map(lambda rank: meet(store, rank, count, PATIENCE), range(count)))
    return name


def test_each_meeting_has_a_name_of_its_own() -> None:
    """Those who are started again must not read what the dead have left in the store."""
    store = HashStore()
    assert len({meeting(store) for _ in range(5)}) == 5


def test_the_dead_are_not_met() -> None:
    store = HashStore()
    meeting(store)
    with pytest.raises(ProcessError, match=r"processes 1, 2 of 3 did not come within 0\.2 seconds"):
        meet(store, 0, 3, 0.2)


def test_one_that_dies_while_others_wait_and_comes_again_is_met() -> None:
    store = HashStore()
    meeting(store, 2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(meet, store, 0, 2, PATIENCE)
        with pytest.raises(ProcessError):
            meet(HashStore(), 1, 2, 0.1)  # cut off
        store.set("arrived/1", "and killed before it could say that it knows the other")
        assert meet(store, 1, 2, PATIENCE) == waiting.result()


def test_one_that_was_ready_and_died_is_not_taken_for_its_successor() -> None:
    """Process 0 comes again, alone, after both were ready: the old word of process 1 is of another meeting."""
    store = HashStore()
    old = meeting(store, 2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(meet, store, 0, 2, PATIENCE)
        new = meet(store, 1, 2, PATIENCE)
        assert waiting.result() == new != old


HOSTS = ("node-a", "node-a", "node-b", "node-b")


def facts(*values: Any) -> list[dict[str, Any]]:
    return [{"facts": {"torch": "2.6", "sha256 of train.tsv": value}, "error": None} for value in values]


def test_nothing_differs() -> None:
    assert differences(facts(1, 1, 1, 1), HOSTS) is None


def test_what_differs_is_named_with_its_machine() -> None:
    assert differences(facts("ab", "ab", "cd", "cd"), HOSTS) == (
        "the processes are not about to train the same; nothing was trained\n"
        "sha256 of train.tsv: ab (processes 0, 1 on node-a); cd (processes 2, 3 on node-b)\n"
        "Give all machines the same versions, recipe and data; then start again."
    )


def test_a_fact_that_only_some_have() -> None:
    told = facts(1, 1, 1, 1)
    told[3]["facts"]["model.heads"] = 4
    found = differences(told, HOSTS) or ""
    assert "model.heads: nothing (processes 0, 1 on node-a and process 2 on node-b); 4 (process 3 on node-b)" in found


def test_many_differences_stay_one_message() -> None:
    told = [{"facts": {f"fact {number}": rank for number in range(20)}, "error": None} for rank in range(2)]
    lines = (differences(told, ("a", "b")) or "").splitlines()
    assert len(lines) == 11
    assert lines[-2] == "and 12 more"


def test_an_error_is_told_instead_of_facts() -> None:
    told = [*facts(1, 1), *({"facts": {}, "error": "no file train.tsv"} for _ in range(2))]
    assert differences(told, HOSTS) == "processes 2, 3 on node-b: no file train.tsv"


def test_words() -> None:
    assert called([3]) == "process 3"
    assert called([0, 2], HOSTS) == "process 0 on node-a and process 2 on node-b"
    assert (minutes(600), minutes(90), minutes(3)) == ("10 minutes", "1.5 minutes", "3 seconds")


CHILD = """
import signal, sys, time
from regard.training.orphans import ending_with_parent
def leave(*_):
    print("asked", flush=True)
    if sys.argv[1] == "hears":
        sys.exit()
if sys.argv[1] != "leaves":
    signal.signal(signal.SIGTERM, leave)
with ending_with_parent(grace=0.2, look_every=0.02):
    print("here", flush=True)
    while True:
        time.sleep(0.05)
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"


@pytest.mark.parametrize(("how", "said"), [("hears", b"asked\n"), ("deaf", b"asked\n"), ("leaves", b"")])
def test_a_process_ends_with_its_parent(how: str, said: bytes) -> None:
    """Also one that hears no signal, since it waits for another; one that does not train is given the time to leave."""
    words = [sys.executable, "-c", PARENT, "-c", CHILD, how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"here\n"
        parent.kill()
        assert parent.communicate(timeout=PATIENCE)[0] == said  # the pipe ends with the last who holds it, the child


def test_a_process_outlives_what_it_no_longer_does_for_its_parent() -> None:
    """Leaving the block ends the watch."""
    program = CHILD.replace("    while True:\n        time.sleep(0.05)\n", "") + "time.sleep(0.5); print('on')"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "-c", program, "leaves"], stdout=subprocess.PIPE, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"here\n"
        parent.kill()
        assert parent.communicate(timeout=PATIENCE)[0] == b"on\n"
