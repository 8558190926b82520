"""What the processes of the site measure themselves, for `/metrics`.

`instruments` has all counters, gauges and histograms; `storage` keeps their values, in the memory
of the process or in files that all processes of the machine share. Label values come from short
lists of the code: never ids, names or addresses of people.
"""
