// CloudKit Web Services, as any client uses them: what the page shows is what programs get.

import { view } from './address.js'

/** @typedef {{ value: any, type?: string, isEncrypted?: boolean }} Field */
/** @typedef {{ zoneName: string, ownerRecordName?: string, zoneType?: string }} ZoneID */
/**
 * @typedef {object} CloudRecord
 * @property {string} recordName
 * @property {string} recordType
 * @property {string} recordChangeTag
 * @property {Record<string, Field>} fields
 * @property {ZoneID} [zoneID]
 * @property {{ timestamp: number, userRecordName: string }} [created]
 * @property {{ timestamp: number, userRecordName: string }} [modified]
 * @property {boolean} [deleted]
 * @property {{ recordName: string, zoneID?: ZoneID }} [parent]
 * @property {{ recordName: string, zoneID?: ZoneID }} [share]
 * @property {string} [shortGUID]
 * @property {string} [serverErrorCode]
 * @property {string} [reason]
 */

/** The service refused a request, or it could not be reached. */
export class Refusal extends Error {
  /** @param {{ status?: number, code?: string, reason?: string, request?: number, uuid?: string, retryAfter?: number, endpoint?: string, body?: any, item?: any }} facts */
  constructor(facts) {
    super(facts.reason || facts.code || 'The request failed.')
    this.name = 'Refusal'
    Object.assign(this, facts)
    /** @type {string} */ this.code = facts.code ?? ''
    /** @type {string} */ this.reason = this.message
    /** @type {number | undefined} */ this.request = facts.request
    /** @type {any} */ this.body = facts.body
    /** @type {string} */ this.endpoint = facts.endpoint ?? ''
    /** @type {number} */ this.status = facts.status ?? 0
    /** @type {number | undefined} */ this.retryAfter = facts.retryAfter
  }
}

/**
 * Reads JSON; whole numbers that a Number cannot hold become BigInts.
 * @param {string} text
 */
export function readJSON(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, /** @type {any} */ ((_, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context.source) : value))
}

/**
 * Writes JSON, BigInts as numbers.
 * @param {any} value @param {number} [indent]
 */
export function writeJSON(value, indent) {
  return JSON.stringify(value, (_, item) => typeof item === 'bigint' ? /** @type {any} */ (JSON).rawJSON(String(item)) : item, indent)
}

/**
 * What the page sends as the identity that it acts as.
 * @param {string} as
 */
export const identityHeader = as => ({ 'X-MistKit-Act-As': as || defaults.identity })

/** The identity of requests that name no other one. */
export const defaults = { identity: 'user' }

/**
 * @typedef {object} Target Where a request goes, when it is not what the page shows.
 * @property {string} [container]
 * @property {string} [environment]
 * @property {string} [scope]
 * @property {string} [as]
 * @property {AbortSignal} [signal]
 * @property {string} [module]
 */

/**
 * Sends a request to `endpoint`, such as `records/query`.
 * @param {string} endpoint @param {any} [body] None for GET. @param {Target} [target]
 */
export async function call(endpoint, body, target = {}) {
  const { container = view.container, environment = view.environment, scope = view.scope, as = view.as, signal, module = 'database' } = target
  const parts = [module, '1', container, environment, ...(module === 'device' ? [] : [scope])]
  return send(`/${parts.map(encodeURIComponent).join('/')}/${endpoint}`, body, as, signal)
}

/** @param {string} path @param {any} body @param {string} as @param {AbortSignal} [signal] */
export async function send(path, body, as, signal) {
  const endpoint = path.split('/').slice(-2).join('/').split('?')[0]
  let response, text
  try {
    response = await fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...identityHeader(as) },
      body: body === undefined ? undefined : typeof body === 'string' ? body : writeJSON(body), signal,
    })
    text = await response.text()
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Refusal({ code: 'NETWORK_ERROR', reason: 'The emulator or the console does not answer. Is it still running?', endpoint, body })
  }
  let reply
  try { reply = text ? readJSON(text) : {} } catch {
    throw new Refusal({ status: response.status, code: 'UNEXPECTED_SERVER_RESPONSE', reason: `The reply (${response.status}) is not JSON: ${text.slice(0, 200)}`, endpoint, body })
  }
  // The number under which the emulator's log explains the answer.
  const request = Number(response.headers.get('X-MistKit-Request')) || undefined
  if (!response.ok) {
    throw new Refusal({ status: response.status, code: reply.serverErrorCode ?? reply.code, reason: reply.reason ?? reply.message, request, uuid: reply.uuid, retryAfter: reply.retryAfter, endpoint, body })
  }
  // A record without fields has no member for them.
  for (const list of [reply.records, ...(reply.zones ?? []).map(zone => zone.records)]) for (const record of list ?? []) if (record && !record.serverErrorCode) record.fields ??= {}
  const items = reply.records ?? reply.zones ?? reply.subscriptions ?? reply.results
  if (Array.isArray(items)) for (const item of items) if (item?.serverErrorCode) Object.defineProperty(item, 'request', { value: request })
  Object.defineProperty(reply, 'request', { value: request })
  return reply
}

/**
 * An item that the service refused, as an error.
 * @param {any} item @param {string} endpoint @param {any} [body]
 */
export const refusalOf = (item, endpoint, body) =>
  new Refusal({ status: 200, code: item.serverErrorCode, reason: item.reason, request: item.request, retryAfter: item.retryAfter, endpoint, body, item })

/**
 * The zone of a request's body, where the page shows one zone.
 * @param {import('./address.js').View} [where]
 */
export function zoneOfView(where = view) {
  if (where.scope === 'public') return { zoneName: '_defaultZone' }
  if (!where.zone || where.zone === '*') return undefined
  return where.owner ? { zoneName: where.zone, ownerRecordName: where.owner } : { zoneName: where.zone }
}

/**
 * A page of a query.
 * @param {{ recordType: string, filterBy?: any[], sortBy?: any[] }} query
 * @param {{ marker?: string, zone?: ZoneID, limit?: number, keys?: string[], target?: Target }} [options]
 * @returns {Promise<{ records: CloudRecord[], continuationMarker?: string }>}
 */
export function query(query, options = {}) {
  const zone = options.zone ?? zoneOfView()
  return call('records/query', {
    ...(zone ? { zoneID: zone } : { zoneWide: true }), query, resultsLimit: options.limit ?? 200,
    ...(options.keys ? { desiredKeys: options.keys } : {}), ...(options.marker ? { continuationMarker: options.marker } : {}),
  }, options.target)
}

/**
 * All pages of a query.
 * @param {any} wanted @param {any} [options]
 * @returns {AsyncGenerator<CloudRecord[]>}
 */
export async function* pages(wanted, options = {}) {
  let marker
  do {
    const page = await query(wanted, { ...options, marker })
    yield page.records
    marker = page.continuationMarker
  } while (marker)
}

/** @param {string[]} names @param {ZoneID} [zone] @param {Target} [target] @returns {Promise<CloudRecord[]>} */
export async function lookup(names, zone, target) {
  const reply = await call('records/lookup', { records: names.map(recordName => ({ recordName })), ...(zone ? { zoneID: bare(zone) } : {}) }, target)
  return reply.records
}

/**
 * A zone's identifier as requests have it.
 * @param {ZoneID} zone @returns {ZoneID}
 */
export function bare(zone) {
  return { zoneName: zone.zoneName, ...(zone.ownerRecordName && view.scope === 'shared' ? { ownerRecordName: zone.ownerRecordName } : {}) }
}

/** @param {any[]} operations @param {ZoneID} [zone] @param {{ atomic?: boolean, target?: Target }} [options] @returns {Promise<CloudRecord[]>} */
export async function modify(operations, zone, options = {}) {
  const reply = await call('records/modify', { operations, ...(zone ? { zoneID: bare(zone) } : {}), ...(options.atomic === undefined ? {} : { atomic: options.atomic }) }, options.target)
  return reply.records
}

/**
 * All zones of a database.
 * @param {Target} [target]
 */
export async function zones(target) {
  const reply = await call('zones/list', {}, target)
  return /** @type {{ zoneID: ZoneID, syncToken?: string, atomic?: boolean, serverErrorCode?: string }[]} */ (reply.zones.filter(zone => !zone.serverErrorCode))
}

/**
 * Uploads a file and returns the value of an asset field.
 * @param {File | Blob} file @param {{ recordName: string, recordType: string, fieldName: string }} token @param {ZoneID} [zone]
 * @param {(part: number) => void} [progress] @param {AbortSignal} [signal]
 */
export async function upload(file, token, zone, progress, signal) {
  const reply = await call('assets/upload', { tokens: [token], ...(zone ? { zoneID: bare(zone) } : {}) })
  const item = reply.tokens[0]
  if (item.serverErrorCode) throw refusalOf(item, 'assets/upload')
  return await new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', item.url)
    request.setRequestHeader('Content-Type', 'application/octet-stream')
    request.upload.onprogress = event => progress?.(event.loaded / (event.total || 1))
    request.onload = () => request.status < 300 ? resolve(readJSON(request.responseText).singleFile) : reject(new Refusal({ status: request.status, code: 'UPLOAD', reason: `The file was refused (${request.status}).` }))
    request.onerror = () => reject(new Refusal({ code: 'NETWORK_ERROR', reason: 'The connection broke while the file was sent.' }))
    request.onabort = () => reject(new DOMException('Stopped', 'AbortError'))
    signal?.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

/**
 * The address of a file, whose placeholder for a name is filled in.
 * @param {string} url @param {string} name
 */
export const fileAddress = (url, name) => url.replace('${f}', encodeURIComponent(name)).replace('$%7Bf%7D', encodeURIComponent(name))
