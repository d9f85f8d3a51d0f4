"""A broker's store in a folder: one file of SQLite's, and beside it a lock and a reserve.

:mod:`~twigcast.broker.store.sqlite.tables` draws the file.  A transaction is applied by
``transaction``, with what ``books`` knows of queues; ``walk`` finds entries of a queue by sequence;
``trimming`` lets documents go; ``disk`` watches over the folder and the room on its disk.
"""
