"""Every encoding, a file each, in the folder of the door by which it enters a transformer; compositions of records live
in `compose`.
"""
