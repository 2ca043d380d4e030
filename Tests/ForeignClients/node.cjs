// Drives a running emulator as programs with CloudKit JS do. The configuration is that of the documentation's page, line by line.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const CloudKit = require("./stand-in.cjs");

const { EMULATOR, API_TOKEN, WEB_AUTH_TOKEN } = process.env;
const page = path.join(__dirname, "../../Sources/MistKit/MistKit.docc/MigratingFromCloudKitJS.md");
const snippets = [...fs.readFileSync(page, "utf8").matchAll(/^```javascript\n(.*?)^```$/gms)].map((match) => match[1]);
assert.equal(snippets.length, 2, "the page configures CloudKit JS in Node and in a browser");
const [inNode, inBrowser] = snippets.map((lines) =>
    lines.replace("http://127.0.0.1:8181", EMULATOR).replace("[insert your API token here]", API_TOKEN)
);

// Nothing leaves the machine, whatever the page says.
const unguardedFetch = globalThis.fetch;
globalThis.fetch = (url, options) => {
    assert.equal(new URL(url).origin, EMULATOR, "a request that the page's lines did not redirect");
    return unguardedFetch(url, options);
};

async function check(name, body) {
    await body();
    console.log(`node: ${name}`);
}

// Fields as a program writes them: without types.
const fields = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
const values = (record) => Object.fromEntries(Object.entries(record.fields).map(([name, field]) => [name, field.value]));

async function withServerKey() {
    new Function("require", inNode)((name) => (name === "./cloudkit.js" ? CloudKit : require(name)));
    const container = CloudKit.getDefaultContainer();
    const database = container.publicCloudDatabase;
    let me;

    await check("Apple's sample: setUpAuth, query, save, fetch, delete", async () => {
        me = await container.setUpAuth();
        assert.match(me.userRecordName, /^_[0-9a-f]{32}$/);
        const saved = await database.saveRecords({ recordType: "Test", recordName: "hello-u" });
        assert.deepEqual(saved.errors, []);
        assert.equal(saved.records[0].created.userRecordName, me.userRecordName);
        const found = await database.performQuery({ recordType: "Test" });
        assert.deepEqual(found.records.map((record) => record.recordName), ["hello-u"]);
        const fetched = await database.fetchRecords("hello-u");
        assert.equal(fetched.records[0].recordChangeTag, saved.records[0].recordChangeTag);
        const deleted = await database.deleteRecords("hello-u");
        assert.deepEqual(deleted.records, [{ recordName: "hello-u", deleted: true }]);
    });

    await check("numbers without types: 9.99 and 10 in one field, whichever comes first", async () => {
        const prices = [{ price: 9.99, rate: 3 }, { price: 10, rate: 2.5 }, { price: -1, rate: 0 }];
        const saved = await database.saveRecords(prices.map((price) => ({ recordType: "Price", fields: fields(price) })));
        assert.deepEqual(saved.errors, []);
        assert.deepEqual(saved.records.map(values), prices);
        const sortBy = [{ fieldName: "price" }];
        const sorted = await database.performQuery({ recordType: "Price", sortBy });
        assert.deepEqual(sorted.records.map((record) => record.fields.price.value), [-1, 9.99, 10]);
        const filterBy = [{ comparator: "GREATER_THAN", fieldName: "rate", fieldValue: { value: 2 } }];
        const filtered = await database.performQuery({ recordType: "Price", filterBy, sortBy });
        assert.deepEqual(filtered.records.map((record) => record.fields.rate.value), [3, 2.5]);
    });

    await check("a limit as text", async () => {
        const found = await database.performQuery({ recordType: "Price" }, { resultsLimit: "2" });
        assert.equal(found.records.length, 2);
        assert.ok(found.continuationMarker);
    });

    await check("files of a record without a name", async () => {
        const record = {
            recordType: "Photo",
            fields: { image: { value: Buffer.from("image") }, pages: { value: [Buffer.from("one"), Buffer.from("two")] } },
        };
        const { records, errors } = await database.saveRecords(record);
        assert.deepEqual(errors, []);
        const { image, pages } = values(records[0]);
        const texts = await Promise.all([image, ...pages].map(async ({ downloadURL }) => (await fetch(downloadURL)).text()));
        assert.deepEqual(texts, ["image", "one", "two"]);
    });
}

async function inTheBrowser() {
    CloudKit.isBrowser = true;
    new Function("CloudKit", inBrowser)(CloudKit);
    const container = CloudKit.getDefaultContainer();

    await check("a person signs in on the page, once for a ticket", async () => {
        assert.equal(await container.setUpAuth(), null);
        const signIn = new URL(container.signInURL);
        assert.equal(signIn.origin, EMULATOR);
        const html = await (await fetch(signIn)).text();
        const submit = () => {
            const form = new URLSearchParams({ user: "new", given_name: "Zoë" });
            for (const [, name, value] of html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)) form.set(name, value);
            return fetch(signIn.origin + signIn.pathname, { method: "POST", body: form });
        };
        assert.match(html, /<form method="post"/);
        // What the page posts to the window that opened it.
        const outcome = JSON.parse((await (await submit()).text()).match(/const outcome = (\{.*?\});/)[1]);
        assert.equal(outcome.ckSession, outcome.ckWebAuthToken);
        assert.equal((await submit()).status, 400);
        assert.equal((await fetch(signIn)).status, 400);
        container.session = outcome.ckSession;
        assert.equal((await container.setUpAuth()).nameComponents.givenName, "Zoë");
    });

    await check("notifications go on when the token is registered again", async () => {
        const database = container.privateCloudDatabase;
        await container.registerForNotifications();
        const token = container.apns.apnsToken;
        await database.send("subscriptions/modify", {
            operations: [
                {
                    operationType: "create",
                    subscription: {
                        subscriptionID: "notes",
                        subscriptionType: "query",
                        query: { recordType: "Note" },
                        firesOn: ["create"],
                    },
                },
            ],
        });
        for (const recordName of ["first", "second"]) {
            const notification = container.nextNotification();
            const saved = await database.saveRecords({ recordType: "Note", recordName, fields: fields({ title: "a" }) });
            assert.deepEqual(saved.errors, []);
            assert.equal((await notification).ck.qry.rid, recordName);
            await container.registerForNotifications();
            assert.equal(container.apns.apnsToken, token);
            assert.ok(container.isPolling);
        }
    });

    await check("partitions alone leave the token's requests with Apple", async () => {
        const asked = [];
        CloudKit.configure({
            services: { fetch: (url) => (asked.push(url), Promise.reject(new Error("not sent"))) },
            containers: [
                {
                    containerIdentifier: "iCloud.com.example.app",
                    environment: "development",
                    apiTokenAuth: { apiToken: API_TOKEN, ckWebAuthToken: WEB_AUTH_TOKEN },
                    publicDatabasePartition: EMULATOR,
                    privateDatabasePartition: EMULATOR,
                },
            ],
        });
        const partitioned = CloudKit.getDefaultContainer();
        const { publicCloudDatabase, privateCloudDatabase, sharedCloudDatabase } = partitioned;
        for (const database of [publicCloudDatabase, privateCloudDatabase, sharedCloudDatabase]) {
            await assert.rejects(database.send("zones/list"), /not sent/);
        }
        await assert.rejects(partitioned.registerForNotifications(), /not sent/);
        assert.deepEqual(
            asked.map((url) => new URL(url).origin),
            [EMULATOR, EMULATOR, EMULATOR, "https://api.apple-cloudkit.com"]
        );
    });
}

withServerKey()
    .then(inTheBrowser)
    .then(() => process.exit(0))
    .catch((error) => {
        console.error(error);
        process.exit(1);
    });
