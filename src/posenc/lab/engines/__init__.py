"""Where jobs run: processes of this machine, Ray, Slurm; or one job at a time on all processes of torchrun.

An engine takes jobs and yields events, in whatever order they come. A job's numbers do not depend on its engine, but
for the order of sums where several processes share a job.
"""
