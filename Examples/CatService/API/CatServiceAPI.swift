// The rest of this module is generated from openapi.yaml whenever it is built: `Client`, `APIProtocol` and their types.
