"""The HTTP surface: every verb under `/v1`, for anybody who holds a key. Needs the `server` extra.

app.py puts it together. routes.py makes a route of each verb, events.py tells what goes on; auth.py says who
asks, limits.py how much, problems.py what went wrong.
"""
