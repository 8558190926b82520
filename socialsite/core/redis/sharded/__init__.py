"""The cache on several servers: a Redis Cluster, or one master that Sentinels replace.

- `splitting` divides commands with several keys into one for each key, and joins the replies.
- `topology` knows which server has which keys now.
- `wires` send a batch to all servers it concerns at once.
- `trust` decides which servers may be read, by a table of the database: Redis replicates after it
  has answered, so a replica that becomes the master may still have what was deleted.
- `client` has the methods of redis-py for single commands.
"""
