"""The Ray engine on a real cluster of two nodes, on this machine: the same bits, and what dies."""

import hashlib
import json
import re

import pytest

from countless.core.errors import BadInput, CountlessError, naming_options
from countless.core.progress import SilentTask
from countless.envs.mdp import describe_mdp, read_mdp
from countless.runs import engine as local_engine
from countless.runs import messages, ray_cluster, ray_tasks
from countless.runs.engine import LocalEngine
from countless.runs.engines import Where, make_engine
from countless.runs.job import Stopped, job_id
from countless.runs.ray_cluster import Needs
from countless.runs.ray_crew import LOSSES, Order
from countless.runs.ray_engine import RayEngine
from countless.runs.run import Budget, jobs_of
from countless.runs.store import Store
from countless.runs.sweep import sweep_jobs
from countless.runs.tabular import read_job
from small_runs import Listener, checkpoint_bytes, deep_job, execute, stop_after


def run_in_turn(engine, jobs, store):
    """The small ones together; the large one, whose parts are spread, by itself."""
    large = [job for job in jobs if job.units > 10**7]
    return engine.run([job for job in jobs if job not in large], store) + engine.run(large, store)


def tabular_jobs():
    """Three small ones, and one of two parts."""
    small = [
        jobs_of("sarsa", "riverswim", Budget(runs=3, steps=99, seed=s), {})[0] for s in range(3)
    ]
    return [*small, *jobs_of("sarsa", "riverswim", Budget(runs=5_000, steps=5_000), {})]


def deep_jobs():
    return [deep_job(seed=seed, frames=200) for seed in (0, 1)]


def fingerprint(jobs, store):
    """One hash of all records, curves and checkpoints, read from the disk."""
    hasher = hashlib.sha256()
    for job in jobs:
        stored = store.find(job)
        for table in (stored.records, stored.curves):
            hasher.update(str(None if table is None else table.to_pydict()).encode())
        if job.engine == "dqn":
            hasher.update(repr(sorted(checkpoint_bytes(stored.folder).items())).encode())
    return hasher.hexdigest()


@pytest.fixture
def cluster():
    """A head and another node, of one core each."""
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80_000_000}
    made = Cluster(initialize_head=True, head_node_args=small | {"include_dashboard": False})
    other = made.add_node(**small)
    made.wait_for_nodes()
    yield made, other
    ray.shutdown()
    made.shutdown()


def test_one_hash_whatever_executes_and_whatever_dies(cluster, monkeypatch, capfd, tmp_path):
    """Local with one and two workers; Ray with two nodes, one of them killed on the way, and one."""
    made, other = cluster
    jobs = [*tabular_jobs(), *deep_jobs()]
    hashes = []
    for cores in (1, 2):
        monkeypatch.setattr(local_engine, "usable_cores", lambda cores=cores: cores)
        store = Store(tmp_path / f"local-{cores}", "a test")
        LocalEngine(threads=cores).run(jobs, store)
        hashes.append(fingerprint(jobs, store))

    monkeypatch.chdir(tmp_path)  # a store may be named from here
    store = Store("ray-2", "a test")
    for job in deep_jobs():  # begun here, gone on with there
        with pytest.raises(Stopped):
            execute(job, store.folder, stop=stop_after(100))

    class KillsANode(Listener):
        """As soon as each node executes one of the deep jobs, which are sent first."""

        def note(self, text):
            if "2 running" in text and not any("2 running" in note for note in self.notes):
                made.remove_node(other, allow_graceful=False)
            super().note(text)

    heard = KillsANode()
    on_ray = RayEngine(made.address, reporter=heard, memory_per_job=1e8)
    ended = run_in_turn(on_ray, jobs, store)
    hashes.append(fingerprint(jobs, store))
    # Whatever the node was executing then: a deep job, or what came after it.
    assert len(heard.warnings) <= 1
    assert all(
        re.fullmatch(r".* in .*: the process or its node died; .*", w) for w in heard.warnings
    )
    assert heard.tasks[0] == ("5 jobs on Ray", sum(job.units for job in jobs if job != jobs[3]))
    assert "5 of 5 done, 0 running, 0 failed" in heard.notes
    assert "2 of 2 done, 0 running, 0 failed" in heard.notes  # the parts
    assert {str(stored.folder.parent) for stored in ended} == {"ray-2"}
    assert {stored.about["command"] for stored in ended} == {"a test"}

    store = Store(tmp_path / "ray-1", "a test")
    run_in_turn(on_ray, jobs, store)
    hashes.append(fingerprint(jobs, store))
    assert hashes == [hashes[0]] * 4

    # What cannot run is told, and what can is finished.
    (fine,) = jobs_of("sarsa", "riverswim", Budget(runs=3, steps=50), {})
    wild = deep_job(frames=2000, learning_rate=1e30, w_reconstruction=1e30)
    with pytest.raises(CountlessError, match=r"seed 0: a loss is not finite .* at step \d+"):
        on_ray.run([wild, fine], store)
    assert store.find(fine) is not None
    with pytest.raises(BadInput, match=r"a job needs 1 CPUs, 2 GPUs, 0\.1 GB, and no node of the"):
        RayEngine(gpus_per_job=2.0, memory_per_job=1e8).run([deep_job(seed=6)], store)
    with pytest.raises(BadInput, match=r"is connected to Ray at \S+ already"):
        RayEngine("elsewhere:6379").run([deep_job(seed=6)], store)
    assert capfd.readouterr().out == ""  # which is for JSON


def test_tabular_jobs_survive_the_way_to_a_node(tmp_path):
    grid = {"norm": [1.0, float("inf")], "beta": [1.0, 2.0]}
    (sweep,) = sweep_jobs("sarsa-sr", "fourrooms", grid, Budget(runs=2, steps=10), {})
    (essr,) = jobs_of("essr", "FrozenLake-v1", Budget(runs=2, steps=10, seed=3), {})
    for job in (sweep, essr):
        message = json.loads(json.dumps(messages.describe(job, Store(tmp_path))))
        same, _ = messages.read(message)
        assert job_id(same) == job_id(job)
        assert (same.label, same.parts()) == (job.label, job.parts())
    assert read_mdp(describe_mdp(essr.mdp)).fingerprint == essr.mdp.fingerprint
    assert read_job(essr.to_message()).mdp.time_limit == essr.mdp.time_limit


def test_an_order_that_gets_no_further_is_given_up():
    reached = 0
    order = Order("a job", 10, {}, lambda: reached)
    assert [order.lost() for _ in range(LOSSES)] == [False] * (LOSSES - 1) + [True]
    reached = 1
    assert not order.lost()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "slurm"}, "--engine must be one of local, ray"),
        ({"address": "auto"}, "--address goes with --engine ray"),
        ({"engine": "local", "gpus_per_job": 1}, "--gpus-per-job goes with --engine ray"),
        ({"engine": "ray", "cpus_per_job": 0}, "--cpus-per-job must be above 0, not 0"),
        ({"engine": "ray", "memory_per_job": -1}, "--memory-per-job must be above 0, not -1"),
        ({"engine": "ray", "gpus_per_job": 1.5}, "must be a share of one GPU or a whole number"),
        ({"engine": "ray", "address": "ray://head:10001"}, "run the command on a node"),
    ],
)
def test_bad_places(options, message, tmp_path):
    with naming_options(), pytest.raises(BadInput, match=message):
        make_engine(Where(**options), None, SilentTask()).run(tabular_jobs()[:1], Store(tmp_path))


def test_without_ray_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    with naming_options(), pytest.raises(BadInput, match=r"--engine ray needs Ray.*'\.\[ray\]'"):
        make_engine(Where("ray"), None, SilentTask())


def test_ray_needs_a_folder():
    with pytest.raises(BadInput, match="engine='ray' needs a folder that all nodes share"):
        RayEngine().run(tabular_jobs(), Store(None))


def test_tabular_agents_take_no_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr("countless.runs.ray_engine.connect", lambda address: None)
    with pytest.raises(BadInput, match="tabular agents use no GPU: leave gpus_per_job out"):
        RayEngine(gpus_per_job=0.5).run(tabular_jobs(), Store(tmp_path))


def test_how_many_tasks_a_node_has_room_for():
    node = {"CPU": 16.0, "GPU": 2.0, "memory": 64e9}
    assert Needs(1.0).fits(node) == 16
    assert Needs(1.0, 0.25).fits(node) == 8
    assert Needs(1.0, 0.25, int(20e9)).fits(node) == 3
    assert Needs(32.0).fits(node) == 0


def test_nodes_with_other_versions_are_refused():
    ray_tasks._check_versions(ray_tasks._versions())
    with pytest.raises(BadInput, match=r"has numpy \S+, the command 0\.1; install the same"):
        ray_tasks._check_versions({"numpy": "0.1"})
