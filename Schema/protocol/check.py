#!/usr/bin/env python3
"""Checks a recorded conversation with a ledger against the schemas beside this file.

Each line of the input is {"request": LINE, "reply": LINE}, the lines as they went over the wire, as strings; a request that
wants no answer has no "reply", a reply that nobody asked for no "request". A request must be valid unless the reply says that
it is not; with "malformed": true it must not be. A result must be the one of its request's method.

With --mutate the first of every kind is then made wrong in every place, one place at a time, and each of these must be
refused.
The exit status is 1 where something is not as it should be. Needs the Python package jsonschema, 4.0 or newer.
"""
import copy
import json
import pathlib
import sys
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parent
SCHEMAS = {name: json.loads((FOLDER / f"{name}.schema.json").read_text()) for name in ("values", "request", "reply")}
# Members that may be missing, wherever they stand in a reply.
OPTIONAL = {
    "key", "note", "product", "price", "priceCurrency", "actor", "debtLot", "operation", "replayed", "revoked", "reason",
    "deadline", "refundPreference", "consumptionPercentage", "end", "body", "external", "adjusted",
    "began",
}
# 2^53: the first integer that not every JSON reader holds.
TOO_LARGE = 9007199254740992
# Elements of an array that are mutated: those after them look the same.
ELEMENTS_MAX = 2


def validator(reference):
    """A validator of a part of the schemas, which find each other by their ids."""
    base = SCHEMAS["request"]["$id"].rsplit("/", 1)[0]
    schema = {"$schema": SCHEMAS["request"]["$schema"], "$ref": f"{base}/{reference}"}
    try:
        from referencing import Registry, Resource
    except ImportError:
        resolver = jsonschema.RefResolver("", schema, {one["$id"]: one for one in SCHEMAS.values()})
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    registry = Registry().with_resources((one["$id"], Resource.from_contents(one)) for one in SCHEMAS.values())
    return jsonschema.Draft202012Validator(schema, registry=registry)


REQUEST = validator("request.schema.json")
ONE_REQUEST = validator("request.schema.json#/$defs/request")
REPLY = validator("reply.schema.json")
RESULTS = {
    method: validator(f"reply.schema.json#/$defs/results/$defs/{method}")
    for method in SCHEMAS["reply"]["$defs"]["results"]["$defs"]
}
ERROR = validator("reply.schema.json#/$defs/error")
# A request that is refused so may be one that no schema allows.
UNREADABLE = {"parse_error", "invalid_request", "line_too_long", "batch_too_long", "method_not_found", "invalid_params"}


def first_error(validator, value):
    if validator.is_valid(value):
        return None
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    return f"{error.json_path}: {error.message[:300]}"


def is_map(path, value):
    """Whether the members of an object are names of accounts or currencies."""
    return not {"balances", "moved"}.isdisjoint(path[-2:]) and "available" not in value


def mutants(value, path=(), is_reply=True):
    """Every (description, value) that has one place made wrong."""
    where = "/".join(map(str, path))
    if isinstance(value, dict):
        yield f"{where} with a member too many", {**value, "unexpected": 0}
        for name, inner in value.items():
            optional = name in OPTIONAL and not (name == "reason" and "retryable" in value)
            optional = optional or (name == "transactionId" and "kind" in value)
            optional = optional or (name == "code" and "end" in value)
            # What was bought never expires.
            optional = optional or (name == "expiresAt" and "lot" in value)
            # What the App Store sold says nothing of another source.
            optional = optional or (name == "source" and "grants" in value)
            # No import says how many were bought: of what was imported neither a purchase nor a history does.
            optional = optional or (name == "quantity" and ("grants" in value or "transfers" in value))
            # Who lacks a token, or may not call the method, is told of no parameter.
            optional = optional or (name == "path" and value.get("reason") in ("unauthenticated", "forbidden"))
            # A server without tokens has no names, and a token of several roles no role.
            optional = optional or (name in ("name", "role") and "roles" in value)
            # The result of an operation of an atomic without its only member is another operation's.
            optional = optional or path[-2:-1] == ("results",)
            if is_reply and not optional and not is_map(path, value):
                yield f"{where} without {name}", {key: value[key] for key in value if key != name}
            for description, wrong in mutants(inner, path + (name,), is_reply):
                yield description, {**value, name: wrong}
    elif isinstance(value, list):
        for index, inner in enumerate(value[:ELEMENTS_MAX]):
            for description, wrong in mutants(inner, path + (index,), is_reply):
                yield description, value[:index] + [wrong] + value[index + 1 :]
    else:
        yield f"{where} of another type", {"x": 1}
        if path[-1:] in (("debits",), ("credits",), ("balance",)):
            yield f"{where} as text that is no sum", "17"
        if isinstance(value, int) and not isinstance(value, bool) and path[-1:] != ("id",):
            yield f"{where} beyond 2^53 - 1", TOO_LARGE
            yield f"{where} with a fraction", 1.5


class Check:
    def __init__(self, mutates):
        self.mutates = mutates
        self.requests = self.replies = self.mutants = self.failures = 0
        self.mutated = set()

    def fail(self, line, message):
        self.failures += 1
        if self.failures <= 20:
            print(f"line {line}: {message}")

    def mutate(self, line, kind, value, validator, is_reply):
        is_first = kind not in self.mutated
        self.mutated.add(kind)
        if not self.mutates or not is_first:
            return
        for description, wrong in mutants(value, (), is_reply):
            self.mutants += 1
            if validator.is_valid(wrong):
                self.fail(line, f"{kind}: allowed {description}: {json.dumps(wrong)[:300]}")

    def record(self, line, record):
        request, reply = (json.loads(record[name]) if name in record else None for name in ("request", "reply"))
        if reply is not None and not self.reply(line, request, reply):
            # It tells nothing of the request.
            reply = None
        if request is not None:
            self.request(line, request, reply, record.get("malformed", False))

    def request(self, line, request, reply, is_malformed):
        self.requests += 1
        if is_malformed:
            if REQUEST.is_valid(request):
                self.fail(line, f"a request that should be refused is valid: {json.dumps(request)[:300]}")
            return
        error = first_error(REQUEST, request)
        if error is not None:
            reasons = {one["error"]["data"]["reason"] for one in listed(reply) if "error" in one}
            if not reasons & UNREADABLE:
                self.fail(line, f"request {error}")
            return
        for one in listed(request):
            self.mutate(line, f"request {one['method']}", one, ONE_REQUEST, False)

    def reply(self, line, request, reply):
        """Whether it is a reply at all."""
        self.replies += 1
        if error := first_error(REPLY, reply):
            self.fail(line, f"reply {error}")
            return False
        methods = {}
        for one in listed(request):
            if isinstance(one, dict) and isinstance(one.get("id"), (str, int)):
                methods[one["id"]] = one.get("method")
        for one in listed(reply):
            if "error" in one:
                self.mutate(line, f"error {one['error']['data']['reason']}", one["error"], ERROR, True)
                continue
            method = methods.get(one["id"])
            if method not in RESULTS:
                self.fail(line, f"a result that nobody asked for, with the id {one['id']}")
            elif error := first_error(RESULTS[method], one["result"]):
                self.fail(line, f"{method} {error}")
            else:
                kind = f"result {method} {one['result'].get('kind', '')}".strip()
                self.mutate(line, kind, one["result"], RESULTS[method], True)
                self.mutate(line, "envelope", {**one, "result": {}}, REPLY, True)
        return True


def listed(value):
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def main():
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    check = Check("--mutate" in sys.argv[1:])
    for number, line in enumerate(sys.stdin, 1):
        check.record(number, json.loads(line))
    kinds = ", ".join(sorted(check.mutated))
    print(f"checked {check.requests} requests, {check.replies} replies, {check.mutants} mutants, {check.failures} failures")
    print(f"kinds: {kinds}")
    sys.exit(1 if check.failures or not check.replies else 0)


if __name__ == "__main__":
    main()
