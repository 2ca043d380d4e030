#!/bin/bash
# links sources: own clone, with snapshots of the server's working tree
cd "$(dirname "$0")"
for t in StreamingJSON OpenAPISwiftRuntime OpenAPISwiftAsyncHTTPClient OpenAPISwiftHummingbird CloudKitModel CloudKitWebServices MistKit CloudKitEmulator; do ln -sfn ../../Sources/$t Sources/$t; done
ln -sfn ../../../Sources/MistTesting/Contract Sources/MistTesting/Contract
rm -rf Sources/CloudKitEmulatorServer; cp -r /tmp/mk/server/Sources/CloudKitEmulatorServer Sources/
for f in /tmp/mk/server/Sources/MistTesting/*.swift; do cp $f Sources/MistTesting/; done
rm -f Sources/MistTesting/Placeholder.swift
