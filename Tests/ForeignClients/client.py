"""Drives a running emulator as scripts do that speak CloudKit Web Services themselves: the standard library and openssl, nothing else."""
import base64
import datetime
import hashlib
import json
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

EMULATOR = os.environ["EMULATOR"]
CONTAINER = os.environ["CONTAINER"]
KEY_ID = os.environ["MISTKIT_KEY_ID"]
KEY_FILE = "key.pem"
USER = {"ckAPIToken": os.environ["API_TOKEN"], "ckWebAuthToken": os.environ["WEB_AUTH_TOKEN"]}
API_TOKEN = {"ckAPIToken": os.environ["API_TOKEN"]}


def request(url, body=None, headers={}):
    """Sends a GET, or a POST with a body, and returns the status and the body of the reply."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers)) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def call(action, body=None, as_=None, database="public", module="database"):
    """Calls an endpoint, signed with the server-to-server key where there are no tokens."""
    parts = [module, "1", CONTAINER, "development", *([database] if module == "database" else []), action]
    path = "/" + "/".join(parts)
    headers = {"Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    if as_:
        path += "?" + urllib.parse.urlencode(as_)
    else:
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = base64.b64encode(hashlib.sha256(data or b"").digest()).decode()
        message = f"{date}:{digest}:{path}".encode()
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", KEY_FILE], input=message, capture_output=True, check=True
        ).stdout
        headers["X-Apple-CloudKit-Request-KeyID"] = KEY_ID
        headers["X-Apple-CloudKit-Request-ISO8601Date"] = date
        headers["X-Apple-CloudKit-Request-SignatureV1"] = base64.b64encode(signature).decode()
    status, reply = request(EMULATOR + path, data, headers)
    return status, json.loads(reply)


def modify(*records, type="Item", operation="create", **options):
    operations = [
        {"operationType": operation, "record": {"recordType": type, "recordName": name, "fields": fields}}
        for name, fields in records
    ]
    return call("records/modify", {"operations": operations}, **options)


def expect(condition, reply):
    if not condition:
        raise AssertionError(f"unexpected reply: {json.dumps(reply, ensure_ascii=False)}")


def the_key_is_a_user():
    status, caller = call("users/caller")
    expect(status == 200 and re.fullmatch("_[0-9a-f]{32}", caller["userRecordName"]), caller)
    status, current = call("users/current")
    expect(status == 200 and current["userRecordName"] == caller["userRecordName"], current)
    status, saved = modify(("written", {}))
    expect(saved["records"][0]["created"]["userRecordName"] == caller["userRecordName"], saved)


def numbers_need_no_types():
    for index, value in enumerate([9.99, 10, -3]):
        status, reply = modify((f"n{index}", {"n": {"value": value}}), type="Numbers")
        expect(status == 200 and reply["records"][0]["fields"]["n"]["value"] == value, reply)
    status, reply = call("records/query", {"query": {"recordType": "Numbers", "sortBy": [{"fieldName": "n"}]}})
    expect([record["recordName"] for record in reply["records"]] == ["n2", "n0", "n1"], reply)
    in_list = {"comparator": "IN", "fieldName": "n", "fieldValue": {"value": [10, -3], "type": "INT64_LIST"}}
    status, reply = call("records/query", {"query": {"recordType": "Numbers", "filterBy": [in_list]}})
    expect(sorted(record["recordName"] for record in reply["records"]) == ["n1", "n2"], reply)


def types_of_number_fields_are_types():
    fields = {"i": {"value": 3, "type": "NUMBER_INT64"}, "d": {"value": 2.5, "type": "NUMBER_DOUBLE"}}
    status, reply = modify(("a", fields), type="Tagged")
    expect(status == 200 and reply["records"][0]["fields"]["i"]["value"] == 3, reply)
    expect(reply["records"][0]["fields"]["d"]["value"] == 2.5, reply)


def an_unknown_type_refuses_the_request():
    status, reply = modify(("good", {}), ("odd", {"shade": {"value": "red", "type": "COLOR"}}))
    expect(status == 400 and reply["serverErrorCode"] == "BAD_REQUEST", reply)
    expect("uuid" in reply and "recordName" not in reply, reply)
    status, reply = call("records/lookup", {"records": [{"recordName": "good"}]})
    expect(reply["records"][0]["serverErrorCode"] == "NOT_FOUND", reply)


def an_encrypted_type_comes_back():
    secret = {"value": "AQID", "type": "ENCRYPTED_BYTES"}
    status, reply = modify(("safe", {"secret": secret}), type="Safe", as_=USER, database="private")
    expect(status == 200 and reply["records"][0]["fields"]["secret"] == secret, reply)
    lookup = {"records": [{"recordName": "safe"}]}
    status, reply = call("records/lookup", lookup, as_=USER, database="private")
    expect(reply["records"][0]["fields"]["secret"] == secret, reply)


def a_limit_may_be_text():
    query = {"query": {"recordType": "Numbers"}, "resultsLimit": "2"}
    status, reply = call("records/query", query)
    expect(status == 200 and len(reply["records"]) == 2 and "continuationMarker" in reply, reply)


def a_file_finds_its_record_without_a_name():
    status, reply = call("assets/upload", {"tokens": [{"recordType": "Photo", "fieldName": "image"}]})
    token = reply["tokens"][0]
    status, file = request(token["url"], b"the bytes", {"Content-Type": "application/octet-stream"})
    asset = json.loads(file)["singleFile"]
    record = {"recordType": "Photo", "fields": {"image": {"value": asset, "type": "ASSETID"}}}
    status, reply = call("records/modify", {"operations": [{"operationType": "create", "record": record}]})
    saved = reply["records"][0]
    expect(saved.get("recordName") == token["recordName"], reply)
    status, bytes_ = request(saved["fields"]["image"]["value"]["downloadURL"].replace("${f}", "image"))
    expect(status == 200 and bytes_ == b"the bytes", reply)


def a_file_may_come_in_a_form():
    form = b'--b\r\nContent-Disposition: form-data; name="files"; filename="file"\r\n\r\nthe bytes\r\n--b--\r\n'
    status, reply = call("assets/upload", {"tokens": [{"recordType": "Photo", "fieldName": "image"}]})
    url = reply["tokens"][0]["url"]
    status, file = request(url, form, {"Content-Type": "multipart/form-data; boundary=b"})
    expect(status == 200 and json.loads(file)["singleFile"]["size"] == 9, file.decode())


def a_registered_token_is_answered():
    client = {"apnsEnvironment": "development", "clientId": "0f5f1a70-7b6e-4c39-8a0e-3d0d7f6a2f11"}
    status, made = call("tokens/create", client, as_=USER, module="device")
    expect(sorted(made) == ["apnsEnvironment", "apnsToken", "webcourierURL"], made)
    status, reply = call("tokens/register", {**client, "apnsToken": made["apnsToken"]}, as_=USER, module="device")
    expect(status == 200 and reply == made, reply)


def a_sign_in_page_works_once():
    status, reply = call("users/caller", as_=API_TOKEN)
    expect(status == 421 and reply["serverErrorCode"] == "AUTHENTICATION_REQUIRED", reply)
    url = urllib.parse.urlsplit(reply["redirectURL"])
    _, html = request(reply["redirectURL"])
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', html.decode()))
    form = urllib.parse.urlencode({**fields, "user": "new", "given_name": "Ann"}).encode()
    status, page = request(f"{url.scheme}://{url.netloc}{url.path}", form)
    token = json.loads(re.search(r"const outcome = (\{.*?\});", page.decode())[1])["ckWebAuthToken"]
    status, caller = call("users/caller", as_={**API_TOKEN, "ckWebAuthToken": token})
    expect(status == 200 and caller["nameComponents"]["givenName"] == "Ann", caller)
    for again in [request(f"{url.scheme}://{url.netloc}{url.path}", form), request(reply["redirectURL"])]:
        expect(again[0] == 400, again[0])


for step in [
    the_key_is_a_user,
    numbers_need_no_types,
    types_of_number_fields_are_types,
    an_unknown_type_refuses_the_request,
    an_encrypted_type_comes_back,
    a_limit_may_be_text,
    a_file_finds_its_record_without_a_name,
    a_file_may_come_in_a_form,
    a_registered_token_is_answered,
    a_sign_in_page_works_once,
]:
    step()
    print("python: " + step.__name__.replace("_", " "))
