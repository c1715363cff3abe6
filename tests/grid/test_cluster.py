"""The same blocks on a Dask cluster, and schedulers that do not answer."""

import asyncio
import contextlib
import logging
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from distributed.cfexecutor import _cascade_future

from microdata_price.exceptions import InputError
from microdata_price.grid import GridSpec, run, run_grid, workers

ASKED = "microdata_price grid --dataset Stair-1d,PUMA0101301 --epsilon 0.5 --rho 0.125 --quiet"
SPEC = GridSpec.choose(datasets=["Stair-1d", "PUMA0101301"], epsilon=[0.5], rho=[0.125], runs=260)


def check_same_as_local(folder):
    local = run_grid(SPEC, folder / "local", workers=1).folder
    for name in ("errors.parquet", "queries.parquet"):
        assert (folder / "out" / name).read_bytes() == (local / name).read_bytes()


def test_an_address_that_is_none_nobody_behind_one_or_a_missing_package(tmp_path, monkeypatch):
    def refused(said, address="tcp://127.0.0.1:9", workers=None):
        with pytest.raises(InputError, match=said):
            run_grid(SPEC, tmp_path / "out", workers, scheduler=address)
        assert not (tmp_path / "out").exists()

    for address in ("", "here", "127.0.0.1:8786", "tcp://", "tcp://host", "http://a:1"):
        refused(r"must be an address such as tcp://10\.0\.0\.1:8786", address)
    refused("workers is 2, but a scheduler has its own; leave one out", workers=2)
    monkeypatch.setattr(logging.Logger, "setLevel", lambda *_: None)  # levels would last
    refused(r"tcp://127\.0\.0\.1:9 does not answer \(5 seconds\); start one")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused(r"pip install 'microdata-price\[cluster\]'")


def test_an_answer_that_is_lost_after_it_was_fetched_is_computed_again(tmp_path, monkeypatch):
    """As Dask's executor has it where the worker of the first answer ends once it is fetched."""
    lost = Future()

    async def cascade(answer):
        await _cascade_future(SimpleNamespace(status="lost", _result=lambda **_: answer), lost)

    def submit(*given):
        made = pool.submit(*given)
        if lost.done():
            return made
        asyncio.run(cascade(asyncio.sleep(0, made.result())))
        return lost

    crew = workers.Crew(SimpleNamespace(submit=submit), lambda: 1, "a block is lost", False)
    monkeypatch.setattr(run, "cluster_at", lambda _: contextlib.nullcontext(crew))
    with ThreadPoolExecutor(1) as pool:
        run_grid(SPEC, tmp_path / "out", scheduler="tcp://127.0.0.1:1")
    check_same_as_local(tmp_path)


class Cluster:
    """A scheduler and workers in processes of their own, to be killed."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, self.processes = f"tcp://127.0.0.1:{port}", []
        words = f"dask scheduler --host 127.0.0.1 --port {port} --no-dashboard"
        self.scheduler = self.start("scheduler", words)
        wait_for(lambda: "Scheduler at" in self.log("scheduler"))

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def start(self, name, words):
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [sys.executable, "-m", *words.split()]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        return self.processes[-1]

    def worker(self):
        words = f"dask worker {self.address} --no-dashboard --no-nanny --nthreads 1"
        process = self.start("worker", words)
        # A grid asks for workers only so long, and starting one may take longer.
        wait_for(lambda: "Registered to" in self.log("worker"))
        return process

    def grid(self, runs):
        words = f"{ASKED} --runs {runs} --scheduler {self.address} --out {self.folder / 'out'}"
        return self.start("grid", words)

    def blocks(self):
        return len(list((self.folder / "out" / "blocks").glob("*.npz")))


HANGS = 120  # seconds after which a test gives up; the grid itself waits a minute
MANY = 400_000  # runs, more than a worker finishes while a busy test looks away


def wait_for(true):
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < HANGS
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


def test_a_cluster_gives_the_same_numbers_and_ends_a_grid_with_its_scheduler(cluster, tmp_path):
    assert cluster.grid(260).wait(300) == 2
    said = cluster.log("grid")
    assert "has no workers; start some with: dask worker tcp://127.0.0.1:" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
    cluster.worker()
    cluster.worker()
    assert cluster.grid(260).wait(300) == 0
    assert "fits: 5200" in cluster.log("grid")
    check_same_as_local(tmp_path)
    shutil.rmtree(cluster.folder / "out")
    grid = cluster.grid(MANY)
    wait_for(lambda: cluster.blocks() > 1)
    cluster.scheduler.kill()
    assert grid.wait(HANGS) == 1
    said = cluster.log("grid")
    assert "has ended or does not answer any more; what is finished is kept" in said
    assert said.count("\n") == 1
    assert cluster.blocks() > 1


def test_a_grid_waits_for_workers_says_so_and_stops_when_told(cluster):
    worker = cluster.worker()
    grid = cluster.grid(MANY)
    wait_for(lambda: cluster.blocks() > 1)
    # Results that the grid has not fetched are lost with their worker: many, if it fetches slowly.
    grid.send_signal(signal.SIGSTOP)
    time.sleep(3)
    worker.kill()
    worker.wait()
    grid.send_signal(signal.SIGCONT)
    # Within ten seconds on an idle machine, up to a minute on a busy one.
    wait_for(lambda: "no worker is left" in cluster.log("grid"))
    kept = cluster.blocks()
    cluster.worker()
    wait_for(lambda: "The grid goes on" in cluster.log("grid").partition("stops it")[2])
    wait_for(lambda: cluster.blocks() > kept)
    grid.send_signal(signal.SIGINT)
    assert grid.wait(HANGS) == 130
    assert "interrupted; " in cluster.log("grid")
    assert {s.split()[0] for s in cluster.log("grid").split("\n") if s} == {"microdata-price:"}
