"""Hashes, packs and sorts for a while, sleeps for half a millisecond, until it is killed; ten minutes at most."""
import hashlib
import json
import time
import zlib

rows = [{"id": i, "name": "row %d" % (i * 7919 % 100), "tags": ["a", "b", str(i)]} for i in range(100)]


def work():
    text = json.dumps(sorted(json.loads(json.dumps(rows)), key=lambda r: r["name"])).encode()
    return hashlib.sha256(zlib.compress(text)).hexdigest()


print("at work", flush=True)
end = time.monotonic() + 600
while time.monotonic() < end:
    work()
    time.sleep(0.0005)
