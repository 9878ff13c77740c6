"""Where resources, workloads, status, secrets and the lease live: one port, two adapters.

``port`` says what the controller needs of its surroundings; ``local`` gives it from a folder of files, ``kube`` from
an API server. The same tests run against both.
"""
