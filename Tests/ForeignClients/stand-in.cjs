// A stand-in for Apple's CloudKit JS, which may not be copied: it sends the same requests, and reads replies as strictly.
//
// What it imitates was observed of CloudKit JS 2.6.4: where requests go and which of them `services.fetch` sees, bodies as text/plain,
// replies that must be JSON whatever the operation, uploads that do not bring their record name along, limits as they were given,
// and notifications that go on with what the last reply about the token said.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");

const host = "https://api.apple-cloudkit.com";
let containers = [];

// In a browser this sends an XMLHttpRequest. It is what `services.fetch` gets as its third argument.
const builtInFetch = (url, options) => {
    if (!CloudKit.isBrowser) throw new Error("there is no XMLHttpRequest in Node");
    return fetch(url, options);
};

class CKError extends Error {
    constructor(reply) {
        super(reply.reason);
        Object.assign(this, reply, { ckErrorCode: reply.serverErrorCode });
    }
}

class Container {
    constructor(config, services) {
        this.config = { clientID: crypto.randomUUID(), apnsEnvironment: "development", ...config };
        this.services = services;
        this.session = config.apiTokenAuth?.ckWebAuthToken ?? null;
        const { publicDatabasePartition, privateDatabasePartition } = config;
        this.publicCloudDatabase = new Database(this, "public", publicDatabasePartition);
        this.privateCloudDatabase = new Database(this, "private", privateDatabasePartition);
        this.sharedCloudDatabase = new Database(this, "shared", config.sharedDatabasePartition ?? privateDatabasePartition);
    }

    fetch(url, options) {
        return this.services.fetch ? this.services.fetch(url, options, builtInFetch) : builtInFetch(url, options);
    }

    async send(action, body, { database = null, partition = null } = {}) {
        const { containerIdentifier, environment, apiTokenAuth, serverToServerKeyAuth, clientID } = this.config;
        const module = database ? "database" : "device";
        const path = ["", module, 1, containerIdentifier, environment, database, action].filter((part) => part !== null).join("/");
        const items = { ckjsBuildVersion: "2420ProjectDev22", ckjsVersion: "2.6.4", clientId: clientID };
        const headers = { "content-type": "text/plain" };
        if (apiTokenAuth) items.ckAPIToken = apiTokenAuth.apiToken;
        if (apiTokenAuth && this.session) items.ckWebAuthToken = encodeURIComponent(this.session);
        const target = path + "?" + Object.entries(items).map((item) => item.join("=")).join("&");
        const text = body === undefined ? undefined : JSON.stringify(body);
        if (serverToServerKeyAuth) {
            const date = new Date().toISOString().replace(/\.\d{3}Z$/, "Z");
            const digest = crypto.createHash("sha256").update(text ?? "").digest("base64");
            const key = fs.readFileSync(serverToServerKeyAuth.privateKeyFile, "utf8");
            headers["X-Apple-CloudKit-Request-ISO8601Date"] = date;
            headers["X-Apple-CloudKit-Request-KeyID"] = serverToServerKeyAuth.keyID;
            headers["X-Apple-CloudKit-Request-SignatureV1"] = crypto
                .createSign("SHA256")
                .update(`${date}:${digest}:${target}`)
                .sign(key, "base64");
        }
        const response = await this.fetch((partition ?? host) + target, {
            method: text === undefined ? "GET" : "POST",
            headers,
            body: text,
            credentials: "same-origin",
        });
        const reply = JSON.parse(await response.text());
        if (!response.ok) throw new CKError(reply);
        const next = response.headers.get("X-Apple-CloudKit-Web-Auth-Token");
        if (next && this.session) this.session = next;
        return reply;
    }

    async setUpAuth() {
        try {
            return await this.fetchCurrentUserIdentity();
        } catch (error) {
            if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED" || this.config.serverToServerKeyAuth) throw error;
            this.signInURL = error.redirectURL;
            return null;
        }
    }

    fetchCurrentUserIdentity() {
        return this.publicCloudDatabase.send("users/caller");
    }

    // A client that has a token registers it; one that has none makes one. Either reply says where to wait.
    async registerForNotifications() {
        const body = { apnsEnvironment: this.config.apnsEnvironment, clientId: this.config.clientID };
        const reply = this.apns
            ? await this.send("tokens/register", { ...body, apnsToken: this.apns.apnsToken })
            : await this.send("tokens/create", body);
        this.apns = { apnsToken: reply.apnsToken, webcourierURL: reply.webcourierURL };
        this.isPolling = reply.apnsToken !== undefined && reply.webcourierURL !== undefined;
    }

    async nextNotification() {
        if (!this.isPolling) throw new Error("the reply about the token left nothing to poll");
        return (await this.fetch(this.apns.webcourierURL)).json();
    }
}

class Database {
    constructor(container, scope, partition) {
        Object.assign(this, { container, scope, partition });
    }

    send(action, body) {
        return this.container.send(action, body, { database: this.scope, partition: this.partition });
    }

    // Failed items are kept apart from records.
    async records(action, body) {
        const { records, ...others } = await this.send(action, body);
        if (!Array.isArray(records)) throw new Error("the reply has no records");
        return {
            ...others,
            records: records.filter((record) => record.serverErrorCode === undefined),
            errors: records.filter((record) => record.serverErrorCode !== undefined),
        };
    }

    performQuery(query, options = {}) {
        return this.records("records/query", { query, zoneID: { zoneName: "_defaultZone" }, ...options });
    }

    fetchRecords(names, options = {}) {
        return this.records("records/lookup", { records: [names].flat().map((name) => ({ recordName: name })), ...options });
    }

    async saveRecords(records, options = {}) {
        records = [records].flat();
        await this.uploadAssets(records, options);
        const operations = records.map((record) => {
            if (record.recordChangeTag === undefined && record.recordType) return { operationType: "create", record };
            if (record.recordChangeTag && record.recordName) return { operationType: "update", record };
            throw new Error("the record can be neither created nor updated");
        });
        return this.records("records/modify", { operations, ...options });
    }

    deleteRecords(names, options = {}) {
        const operations = [names].flat().map((name) => ({ operationType: "forceDelete", record: { recordName: name } }));
        return this.records("records/modify", { operations, ...options });
    }

    // The record name of the reply is not copied into the record.
    async uploadAssets(records, options) {
        const files = records.flatMap((record) =>
            Object.entries(record.fields ?? {}).flatMap(([fieldName, field]) =>
                Buffer.isBuffer(field.value)
                    ? [{ record, fieldName, bytes: field.value, attach: (asset) => (field.value = asset) }]
                    : Array.isArray(field.value) && field.value.some(Buffer.isBuffer)
                      ? field.value.map((bytes, index) => ({ record, fieldName, bytes, attach: (asset) => (field.value[index] = asset) }))
                      : []
            )
        );
        if (files.length === 0) return;
        const tokens = files.map(({ record, fieldName }) => ({
            fieldName,
            recordType: record.recordType,
            recordName: record.recordName,
        }));
        const reply = await this.send("assets/upload", { tokens, zoneID: options.zoneID });
        for (const [index, { url }] of reply.tokens.entries()) {
            const response = await this.container.fetch(url, { method: "POST", body: files[index].bytes });
            files[index].attach((await response.json()).singleFile);
        }
    }
}

const CloudKit = {
    isBrowser: false,
    configure({ containers: configurations, services = {} }) {
        if (!CloudKit.isBrowser && !services.fetch) throw new Error("services.fetch is needed in Node");
        containers = configurations.map((configuration) => new Container(configuration, services));
        return CloudKit;
    },
    getDefaultContainer: () => containers[0],
};

module.exports = CloudKit;
