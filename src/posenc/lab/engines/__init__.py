"""Where jobs run: processes of this machine, Ray, Slurm.

An engine takes jobs and yields events, in whatever order they come. A job's numbers do not depend on its engine.
"""
