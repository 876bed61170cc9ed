"""One run of a deep agent per seed, through submitit: on Slurm, or as processes of this machine.

    python examples/submitit_seeds.py --cluster slurm --seeds 0 1 2 -- \\
        dqn-mmc-sr MontezumaRevenge --scale laptop --out /shared/results

What follows the two dashes are arguments of `countless run`. When its time is over, or it is preempted,
a run writes its checkpoint and is queued again.
"""

import argparse
import json
import signal
import subprocess
import sys

import submitit


class Run:
    """`countless run` for one seed, as a process that can be asked to stop."""

    def __init__(self, arguments):
        self.arguments = arguments

    def __call__(self, seed):
        command = [sys.executable, "-m", "countless", "run", *self.arguments]
        command += ["--seed", str(seed), "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        out, _ = self.process.communicate()
        if self.process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} exited with {self.process.returncode}")
        return json.loads(out)

    def checkpoint(self, seed):
        """Called by submitit when the time is over: the same again, from the checkpoint."""
        self.process.send_signal(signal.SIGUSR1)
        self.process.wait()
        return submitit.helpers.DelayedSubmission(Run(self.arguments), seed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cluster", choices=("slurm", "local"), default="slurm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--hours", type=float, default=24.0, help="until a run is queued again")
    parser.add_argument("--logs", default="submitit")
    parser.add_argument("arguments", nargs="+", metavar="ARGUMENT", help="of `countless run`")
    options = parser.parse_args()

    times = {"slurm": {"slurm_max_num_timeout": 100}, "local": {}}[options.cluster]
    executor = submitit.AutoExecutor(options.logs, cluster=options.cluster, **times)
    executor.update_parameters(timeout_min=int(60 * options.hours), cpus_per_task=1, mem_gb=12)
    for job in executor.map_array(Run(options.arguments), options.seeds):
        (run,) = job.result()["runs"]
        print(f"seed {run['seed']}: {run['episodes']} episodes, kept in {run['folder']}")


if __name__ == "__main__":
    main()
