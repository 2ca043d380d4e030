"""The loop of Main.swift with requests and orjson: prints the records, the seconds, the processor's seconds, and the bytes."""

import resource
import sys
import time

import orjson
import requests

address, token = sys.argv[1:3]
path = "/database/1/iCloud.com.example.streams/development/public/records/query"
session = requests.Session()
body = {"query": {"recordType": "Article"}}
count = 0
total = 0
start = time.perf_counter()
while True:
    response = session.post(address + path, params={"ckAPIToken": token}, data=orjson.dumps(body))
    response.raise_for_status()
    page = orjson.loads(response.content)
    for record in page["records"]:
        total += record["fields"]["number"]["value"]
        count += 1
    marker = page.get("continuationMarker")
    if marker is None:
        break
    body["continuationMarker"] = marker
seconds = time.perf_counter() - start
assert total == count * (count - 1) // 2
usage = resource.getrusage(resource.RUSAGE_SELF)
print(count, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)
