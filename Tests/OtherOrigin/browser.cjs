// Drives chromium against a running emulator: pages of another origin that try to get at its data, and a page that may.
//
// MISTKIT_SERVER_URL and the other variables of `mistkit emulator --exec` say where the emulator is. The other sites are names that the
// browser resolves to this machine.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const { MISTKIT_SERVER_URL: EMULATOR, MISTKIT_API_TOKEN: API_TOKEN, MISTKIT_CONTAINER: CONTAINER } = process.env;
const WEB_AUTH_TOKEN = encodeURIComponent(process.env.MISTKIT_WEB_AUTH_TOKEN);
const CODE = process.env.MISTKIT_SIGN_IN_CODE;
const folder = process.env.MISTKIT_DATA_FOLDER;
const start = fs.readdirSync(folder).find((name) => name.startsWith("administration-"));
const SECRET = JSON.parse(fs.readFileSync(`${folder}/${start}`, "utf8")).secret;
const port = new URL(EMULATOR).port;
const service = `/database/1/${CONTAINER}/development`;

/// Chromium, controlled over a pipe with its DevTools protocol: each message ends with a NUL.
class Browser {
    constructor(profile) {
        const hosts = "MAP evil.example 127.0.0.1, MAP rebound.example 127.0.0.1";
        const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"];
        options.push(`--user-data-dir=${profile}`, `--host-resolver-rules=${hosts}`, "--disable-popup-blocking", "--no-first-run");
        options.push("--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests", "about:blank");
        this.process = spawn("chromium", options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
        this.next = 0;
        this.replies = new Map();
        let text = "";
        this.process.stdio[4].setEncoding("utf8").on("data", (chunk) => {
            const messages = (text + chunk).split("\0");
            text = messages.pop();
            for (const message of messages.map((message) => JSON.parse(message))) {
                const reply = this.replies.get(message.id);
                if (!reply) continue;
                this.replies.delete(message.id);
                if (message.error) reply.reject(new Error(message.error.message));
                else reply.resolve(message.result);
            }
        });
    }

    send(method, params = {}, sessionId = undefined) {
        const id = ++this.next;
        this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
        return new Promise((resolve, reject) => this.replies.set(id, { resolve, reject }));
    }

    async attach(targetId) {
        const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
        return new Page(this, sessionId, targetId);
    }

    async open(url) {
        const { targetId } = await this.send("Target.createTarget", { url });
        const page = await this.attach(targetId);
        await page.until("document.readyState === 'complete' && location.href !== 'about:blank'");
        return page;
    }

    /// The window that a page has opened.
    async popup(opener, address) {
        return eventually(`a window at ${address}`, async () => {
            const { targetInfos } = await this.send("Target.getTargets");
            const found = targetInfos.find((info) => info.openerId === opener.targetId && info.url.includes(address));
            return found && this.attach(found.targetId);
        });
    }
}

class Page {
    constructor(browser, sessionId, targetId) {
        Object.assign(this, { browser, sessionId, targetId });
    }

    /// The value of an expression. The page takes it for something that the user did.
    async run(expression) {
        const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
        const { result, exceptionDetails } = await this.browser.send("Runtime.evaluate", params, this.sessionId);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    until(condition) {
        return eventually(condition, () => this.run(condition).catch(() => false));
    }

    close() {
        return this.browser.send("Target.closeTarget", { targetId: this.targetId });
    }
}

async function eventually(what, condition) {
    const deadline = Date.now() + 20_000;
    for (;;) {
        const value = await condition();
        if (value) return value;
        if (Date.now() > deadline) throw new Error(`did not happen: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/// What a program with the secret gets of the administration.
async function administer(path, { method = "GET", body } = {}) {
    const headers = { Authorization: `Bearer ${SECRET}`, "Content-Type": "application/json" };
    const response = await fetch(`${EMULATOR}/_emulator/${path}`, { method, headers, body: body && JSON.stringify(body) });
    return { status: response.status, body: response.status === 204 ? undefined : await response.json() };
}

/// What a program on this machine gets. It is not a page, so no origin is checked.
async function call(path, { body, token } = {}) {
    const items = `ckAPIToken=${API_TOKEN}` + (token ? `&ckWebAuthToken=${token}` : "");
    const response = await fetch(`${EMULATOR}${service}/${path}?${items}`, { method: body ? "POST" : "GET", body: body && JSON.stringify(body) });
    return response.json();
}
const ticket = async () => (await call("private/zones/list")).redirectURL;
const everyone = async () => (await call("public/users/discover", { token: WEB_AUTH_TOKEN })).users ?? [];

// Each way is tried, also after one that succeeded.
let failures = 0;
async function check(name, body) {
    try {
        await body();
        console.log(`browser: ${name}`);
    } catch (error) {
        failures += 1;
        console.error(`browser: failed: ${name}\n${error.stack}`);
    }
}

// A site with an empty page, at any of the names.
const site = http.createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!DOCTYPE html><title>a page</title><script>const heard = []; onmessage = (event) => heard.push(event.data);</script>");
});

/// What a page gets from the address of a request: the status and the text, or the failure.
const read = (address, options = {}) =>
    `fetch(${JSON.stringify(address)}, ${JSON.stringify(options)})
        .then(async (response) => ({ status: response.status, type: response.type, text: await response.text() }), () => "refused")`;
/// Sends a form to a new window, as a click on a button does.
const submit = (address, items) => `(() => {
    const form = Object.assign(document.createElement("form"), { method: "post", action: ${JSON.stringify(address)}, target: "form" });
    for (const [name, value] of Object.entries(${JSON.stringify(items)}))
        form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    window.open("about:blank", "form", "popup");
    document.body.append(form);
    form.submit();
})()`;

async function main(browser) {
    const sitePort = await new Promise((resolve) => site.listen(0, "127.0.0.1", () => resolve(site.address().port)));
    const zones = `${EMULATOR}${service}/private/zones/list?ckAPIToken=${API_TOKEN}`;
    const victim = (await call("public/users/caller", { token: WEB_AUTH_TOKEN })).userRecordName;
    const users = (await everyone()).length;
    const evil = await browser.open(`http://evil.example:${sitePort}/`);

    await check("another origin reads no response", async () => {
        const addresses = [zones, `${zones}&ckWebAuthToken=${WEB_AUTH_TOKEN}`, `${EMULATOR}/sign-in`, await ticket()];
        for (const address of addresses) {
            assert.equal(await evil.run(read(address)), "refused");
            const opaque = await evil.run(read(address, { mode: "no-cors" }));
            assert.deepEqual(opaque, { status: 0, type: "opaque", text: "" });
        }
    });

    await check("another origin writes no record, though such a request needs no permission to be sent", async () => {
        const record = { recordType: "Note", recordName: "of-another-origin", fields: {} };
        const body = JSON.stringify({ operations: [{ operationType: "create", record }] });
        const address = `${EMULATOR}${service}/public/records/modify?ckAPIToken=${API_TOKEN}&ckWebAuthToken=${WEB_AUTH_TOKEN}`;
        await evil.run(read(address, { method: "POST", body, mode: "no-cors" }));
        const { records } = await call("public/records/lookup", { body: { records: [{ recordName: record.recordName }] } });
        assert.equal(records[0].serverErrorCode, "NOT_FOUND");
    });

    await check("another origin sends the form of the sign-in page in vain", async () => {
        for (const user of ["new", victim]) {
            const address = new URL(await ticket());
            await evil.run(submit(address.origin + address.pathname, { oauth_token: address.searchParams.get("oauth_token"), user }));
            const popup = await browser.popup(evil, "/sign-in");
            await popup.until("document.readyState === 'complete' && document.querySelector('h1') !== null");
            assert.match(await popup.run("document.body.innerText"), /Another page sent it, so no one was signed in/);
            await popup.close();
        }
        assert.equal((await everyone()).length, users);
        assert.deepEqual(await evil.run("heard"), []);
    });

    await check("another origin opens the sign-in page, the user signs in, and the token is not handed over", async () => {
        await evil.run(`window.open(${JSON.stringify(await ticket())}, "page", "popup") !== null`);
        const popup = await browser.popup(evil, "/sign-in");
        await popup.until("document.querySelector('details button.main') !== null");
        await popup.run("document.querySelector('details button.main').click()");
        await popup.until("document.querySelector('textarea') !== null && document.querySelector('textarea').checkVisibility()");
        await popup.close();
        assert.deepEqual(await evil.run("heard"), []);
    });

    await check("the list of users and a user of the list need the sign-in code", async () => {
        const page = await browser.open(await ticket());
        assert.equal(await page.run(`document.documentElement.outerHTML.includes(${JSON.stringify(victim)})`), false);
        for (const code of ["wrong", CODE]) {
            await page.run(`document.querySelector("input[name=sign_in_code]:not([type=hidden])").value = ${JSON.stringify(code)}`);
            await page.run("document.querySelector('button[value=list]').click()");
            const seen = code === CODE ? `button[value=${victim}]` : "[role=alert]";
            await page.until(`document.querySelector('${seen}') !== null`);
            assert.equal(await page.run(`document.documentElement.outerHTML.includes(${JSON.stringify(victim)})`), code === CODE);
        }
        await page.close();
    });

    await check("a name that another site gives this machine is not served", async () => {
        const page = await browser.open(`http://rebound.example:${port}${service}/private/zones/list?ckAPIToken=${API_TOKEN}`);
        const reply = JSON.parse(await page.run("document.body.innerText"));
        assert.equal(reply.serverErrorCode, "ACCESS_DENIED");
        assert.equal(reply.redirectURL, undefined);
        await page.close();
    });

    const rule = [{ fault: "refuse", code: "ACCESS_DENIED", on: "nothing" }];
    const confirmation = { confirmation: `delete development of ${CONTAINER}` };
    const reset = `containers/${CONTAINER}/development/reset`;

    // Also a page that learned the secret, and a page of this machine, which may use CloudKit Web Services.
    for (const [name, page] of [["another origin", evil], ["a page of this machine", await browser.open(`http://localhost:${sitePort}/`)]]) {
        await check(`${name} reads nothing of the administration, with the secret or without`, async () => {
            for (const path of ["start", "users", "requests", "counts", "faults", `containers/${CONTAINER}/development/schema`]) {
                const address = `${EMULATOR}/_emulator/${path}`;
                assert.equal(await page.run(read(address)), "refused");
                assert.equal(await page.run(read(address, { headers: { Authorization: `Bearer ${SECRET}` } })), "refused");
                assert.equal(await page.run(read(address, { credentials: "include" })), "refused");
                // Not even an opaque response: Cross-Origin-Resource-Policy.
                assert.equal(await page.run(read(address, { mode: "no-cors" })), "refused");
            }
        });

        await check(`${name} changes nothing through the administration`, async () => {
            const before = [await administer("users"), await administer("counts")];
            for (const mode of ["cors", "no-cors"]) {
                const headers = { Authorization: `Bearer ${SECRET}`, "Content-Type": mode === "cors" ? "application/json" : "text/plain" };
                const attempts = [["users", {}], [reset, confirmation], [`users/${victim}/sessions`, {}]];
                for (const [path, body] of attempts) {
                    await page.run(read(`${EMULATOR}/_emulator/${path}`, { method: "POST", mode, headers, body: JSON.stringify(body) }));
                }
            }
            await page.run(read(`${EMULATOR}/_emulator/faults`, { method: "PUT", headers: { Authorization: `Bearer ${SECRET}` }, body: JSON.stringify(rule) }));
            await page.run(submit(`${EMULATOR}/_emulator/users`, { givenName: "evil" }));
            const popup = await browser.popup(page, "/_emulator/");
            await popup.until("document.readyState === 'complete' && document.body.innerText.includes('code')");
            assert.equal(JSON.parse(await popup.run("document.body.innerText")).code, "foreignPage");
            await popup.close();
            assert.deepEqual([await administer("users"), await administer("counts")], before);
            assert.deepEqual((await administer("faults")).body, { rules: [] });
        });
    }

    await check("a name that another site gives this machine has no administration", async () => {
        const page = await browser.open(`http://rebound.example:${port}/_emulator/start`);
        assert.equal(JSON.parse(await page.run("document.body.innerText")).code, "foreignHost");
        // The page's own origin, to the browser. It has the secret.
        const answer = await page.run(read(`http://rebound.example:${port}/_emulator/users`, { headers: { Authorization: `Bearer ${SECRET}` } }));
        assert.equal(JSON.parse(answer.text).code, "foreignHost");
        await page.close();
    });

    await check("the emulator's own origin needs the secret, and gets in with it", async () => {
        const page = await browser.open(`${EMULATOR}/_emulator/start`);
        assert.equal(JSON.parse(await page.run("document.body.innerText")).code, "unauthorized");
        assert.equal((await page.run(read(`${EMULATOR}/_emulator/users`))).status, 401);
        assert.equal((await page.run(read(`${EMULATOR}/_emulator/users`, { headers: { Authorization: `Bearer ${SECRET}` } }))).status, 200);
        await page.close();
        assert.equal((await administer("faults", { method: "PUT", body: rule })).status, 200);
        assert.equal((await administer("faults", { method: "DELETE" })).status, 204);
    });

    await check("a page of this machine reads responses, and gets the token of a user of the list", async () => {
        const page = await browser.open(`http://localhost:${sitePort}/`);
        const reply = await page.run(read(zones));
        assert.equal(reply.status, 421);
        await page.run(`window.open(${JSON.stringify(JSON.parse(reply.text).redirectURL)}, "page", "popup") !== null`);
        const popup = await browser.popup(page, "/sign-in");
        await popup.until("document.querySelector('input[name=sign_in_code]:not([type=hidden])') !== null");
        await popup.run(`document.querySelector("input[name=sign_in_code]:not([type=hidden])").value = ${JSON.stringify(CODE)}`);
        await popup.run("document.querySelector('button[value=list]').click()");
        await popup.until(`document.querySelector('button[value=${victim}]') !== null`);
        await popup.run(`document.querySelector('button[value=${victim}]').click()`);
        await page.until("heard.length > 0");
        const [outcome] = await page.run("heard");
        assert.equal(outcome.ckSession, outcome.ckWebAuthToken);
        const caller = await call("public/users/caller", { token: encodeURIComponent(outcome.ckWebAuthToken) });
        assert.equal(caller.userRecordName, victim);
    });
}

const browser = new Browser(`${process.argv[2]}/profile`);
main(browser)
    .then(() => Math.min(failures, 1), (error) => (console.error(error), 1))
    .then((status) => {
        browser.process.kill("SIGKILL");
        process.exit(status);
    });
