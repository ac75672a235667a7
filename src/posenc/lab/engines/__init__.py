"""Engines that run jobs: processes of this machine, Ray, Slurm, or all processes of torchrun on one job at a time.

An engine takes jobs and yields events, in whatever order they come. A job's numbers do not depend on its engine, but
for the order of sums where several processes share a job.
"""
