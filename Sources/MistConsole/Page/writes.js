// Changes of records: with the tag, with both versions where another client was faster, with what a deletion takes along, and back again.

import { view } from './address.js'
import { button, h } from './dom.js'
import { openDialog, say, withProgress } from './dialogs.js'
import { PendingFile } from './editors.js'
import { forgetSchemas, loadCounts, schema, session } from './session.js'
import { ownFields, protocolType } from './schema-text.js'
import { lookup, modify, query, refusalOf, upload } from './service.js'
import { areEqual, summary } from './values.js'

/** @typedef {import('./service.js').CloudRecord} CloudRecord */
/** @typedef {import('./service.js').Field} Field */
/** @typedef {import('./service.js').ZoneID} ZoneID */

/** Where the page is, to be used later although the page may have moved on. */
const here = () => ({ container: view.container, environment: view.environment, scope: view.scope, as: view.as })

/**
 * Announces that records changed.
 * @param {CloudRecord[]} saved @param {CloudRecord[]} [deleted]
 */
export function announceWrite(saved, deleted = []) {
  document.dispatchEvent(new CustomEvent('records-written', { detail: { saved, deleted } }))
  if (session.administration) loadCounts()
}

/** @type {{ text: string, undo: () => Promise<void> } | undefined} */
let last

/** @param {string} text @param {() => Promise<void>} undo */
function canUndo(text, undo) {
  last = { text, undo }
  say(text, { action: 'Undo', act: undoLast })
}

/** Takes the last change back. */
export async function undoLast() {
  const change = last
  if (!change) { say('There is no change to take back.'); return }
  last = undefined
  try { await change.undo(); say('Taken back.') } catch (error) { say(`Not taken back: ${error.message}`, { kind: 'bad', seconds: 12 }) }
}

/**
 * Uploads what waits in fields, and returns them as a request has them.
 * @param {Record<string, any>} fields @param {string} recordType @param {string} recordName @param {ZoneID | undefined} zone
 */
async function withFiles(fields, recordType, recordName, zone) {
  /** @type {Record<string, any>} */
  const result = {}
  for (const name in fields) {
    const field = fields[name], isMany = Array.isArray(field.value)
    const items = []
    for (const item of isMany ? field.value : [field.value]) {
      if (!(item instanceof PendingFile)) { items.push(item); continue }
      const value = await withProgress(`Uploading ${item.file.name}`, (report, signal) => upload(item.file, { recordName, recordType, fieldName: name }, zone, part => report(Math.round(part * 100), 100, `${Math.round(part * 100)} %`), signal))
      if (!value) throw new DOMException('Stopped', 'AbortError')
      items.push(value)
    }
    result[name] = { ...field, value: isMany ? items : items[0] }
  }
  return result
}

/**
 * Creates a record.
 * @param {{ recordType: string, recordName?: string, fields: Record<string, any>, parent?: any }} record @param {ZoneID | undefined} zone
 */
export async function create(record, zone) {
  const target = here(), recordName = record.recordName || crypto.randomUUID().toUpperCase()
  const fields = await withFiles(record.fields, record.recordType, recordName, zone)
  const [saved] = await modify([{ operationType: 'create', record: { ...record, recordName, fields } }], zone, { target })
  if (saved.serverErrorCode) throw refusalOf(saved, 'records/modify')
  saved.zoneID ??= zone ?? { zoneName: '_defaultZone' }
  announceWrite([saved])
  canUndo(`${record.recordType} ${recordName} is created.`, async () => {
    const [reply] = await modify([{ operationType: 'delete', record: { recordName, recordChangeTag: saved.recordChangeTag } }], zone, { target })
    if (reply.serverErrorCode) throw refusalOf(reply, 'records/modify')
    announceWrite([], [saved])
  })
  return saved
}

/**
 * Saves changed fields of a record with its tag. Where another client was faster, both versions are shown.
 * @param {CloudRecord} base The record as it was read. @param {Record<string, any>} changes
 * @returns {Promise<CloudRecord | undefined>} `undefined` where the person leaves the conflict.
 */
export async function update(base, changes) {
  const target = here(), zone = base.zoneID
  const fields = await withFiles(changes, base.recordType, base.recordName, zone)
  const saved = await send(base.recordChangeTag, fields)
  if (saved?.serverErrorCode === 'CONFLICT') {
    const [theirs] = await lookup([base.recordName], zone, target)
    if (theirs.serverErrorCode) throw refusalOf(theirs, 'records/lookup')
    theirs.zoneID ??= zone
    const chosen = await resolve(base, fields, theirs)
    if (!chosen) return undefined
    return Object.keys(chosen).length ? update(theirs, chosen) : theirs
  }
  if (saved.serverErrorCode) throw refusalOf(saved, 'records/modify')
  saved.zoneID ??= zone
  announceWrite([saved])
  const before = Object.fromEntries(Object.keys(fields).map(name => [name, base.fields[name] ?? { value: null }]))
  canUndo(`${base.recordName} is saved.`, async () => {
    const [reply] = await modify([{ operationType: 'update', record: { recordName: base.recordName, recordType: base.recordType, recordChangeTag: saved.recordChangeTag, fields: withoutFiles(before) } }], zone, { target })
    if (reply.serverErrorCode) throw refusalOf(reply, 'records/modify')
    reply.zoneID ??= zone
    announceWrite([reply])
  })
  return saved

  /** @param {string} tag @param {any} fields */
  async function send(tag, fields) {
    const [reply] = await modify([{ operationType: 'update', record: { recordName: base.recordName, recordType: base.recordType, recordChangeTag: tag, fields } }], zone, { target })
    return reply
  }
}

/**
 * Files that the service has cannot be written again as they are read.
 * @param {Record<string, Field>} fields
 */
const withoutFiles = fields => Object.fromEntries(Object.entries(fields).filter(([, field]) => !/^ASSET/.test(field.type ?? '')))

/**
 * Shows a conflict field by field.
 * @param {CloudRecord} base @param {Record<string, any>} mine @param {CloudRecord} theirs
 * @returns {Promise<Record<string, any> | undefined>} The fields to save on top of the service's version.
 */
export function resolve(base, mine, theirs) {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs.fields)])].filter(name => {
    const there = theirs.fields[name]?.value ?? null, was = base.fields[name]?.value ?? null
    return name in mine ? !areEqual(mine[name].value, there) : !areEqual(there, was)
  })
  /** @type {Record<string, 'mine' | 'theirs'>} */
  const choices = Object.fromEntries(names.map(name => [name, name in mine && areEqual(theirs.fields[name]?.value ?? null, base.fields[name]?.value ?? null) ? 'mine' : name in mine ? 'mine' : 'theirs']))
  return openDialog('Another client saved this record first', () => h('div', { class: 'prose' },
    h('p', null, `You edited tag ${base.recordChangeTag}; the service has tag ${theirs.recordChangeTag} now. Nothing is lost yet: choose for each field.`),
    names.length === 0 ? h('p', null, 'Both versions have the same values.') : h('div', { class: 'scroll-x' }, h('table', { class: 'conflict-table' },
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Field'), h('th', { scope: 'col' }, 'Before'), h('th', { scope: 'col' }, 'Yours'), h('th', { scope: 'col' }, 'Theirs'))),
      h('tbody', null, names.map(name => {
        const cell = (side, field) => {
          if (side === 'mine' && !(name in mine)) return h('td', { class: 'note' }, 'not changed')
          return h('td', null, h('button', { type: 'button', 'data-side': side, 'aria-label': `${name}: ${side === 'mine' ? 'yours' : 'theirs'}, ${summary(field) || 'no value'}`, onclick: () => { choices[name] = side; mark() } }, summary(field, 300) || 'no value'))
        }
        const row = h('tr', null, h('th', { scope: 'row' }, name), h('td', null, summary(base.fields[name], 300) || 'no value'), cell('mine', mine[name]), cell('theirs', theirs.fields[name]))
        const mark = () => { for (const button of row.querySelectorAll('[data-side]')) button.setAttribute('aria-pressed', String(button.getAttribute('data-side') === choices[name])) }
        mark()
        return row
      }))))), {
    kind: 'wide',
    actions: close => [button('Go on editing', () => close(undefined)), button('Take theirs for all', () => close({}), { kind: 'named' }), button('Save what is chosen', () => close(Object.fromEntries(names.filter(name => choices[name] === 'mine').map(name => [name, mine[name]]))), { kind: 'primary' })],
  })
}

/** @typedef {{ recordType: string, field: string, action: string, record: CloudRecord, target: string }} Referrer */

/**
 * What refers to a record, by type and field. Fields that the service has no index for are named in `unknown`.
 * @param {CloudRecord} record
 */
export async function referrers(record) {
  /** @type {Referrer[]} */
  const found = []
  /** @type {string[]} */
  const unknown = []
  // Another client may have saved the first record of a type meanwhile.
  forgetSchemas()
  const { types } = await schema()
  for (const type of types) {
    for (const field of ownFields(type)) {
      const kind = protocolType(field.type)
      if (kind !== 'REFERENCE' && kind !== 'REFERENCE_LIST') continue
      const value = { recordName: record.recordName, ...(record.zoneID && view.scope !== 'public' ? { zoneID: record.zoneID } : {}) }
      try {
        const page = await query({ recordType: type.name, filterBy: [{ fieldName: field.name, comparator: kind === 'REFERENCE' ? 'EQUALS' : 'LIST_CONTAINS', fieldValue: { value, type: 'REFERENCE' } }] }, { zone: record.zoneID })
        for (const other of page.records) {
          const held = other.fields[field.name]?.value
          const action = (Array.isArray(held) ? held.find(item => item.recordName === record.recordName) : held)?.action ?? 'NONE'
          found.push({ recordType: type.name, field: field.name, action, record: other, target: record.recordName })
        }
      } catch { unknown.push(`${type.name}.${field.name}`) }
    }
  }
  return { found, unknown }
}

/**
 * Deletes records, after what goes with them is shown.
 * @param {CloudRecord[]} records
 */
export async function remove(records) {
  const target = here()
  /** @type {Map<string, CloudRecord>} */
  const cascade = new Map()
  /** @type {Referrer[]} */
  const holders = []
  const unknown = new Set()
  const key = record => `${record.zoneID?.ownerRecordName ?? ''}/${record.zoneID?.zoneName ?? ''}/${record.recordName}`
  const own = new Set(records.map(key))
  const searched = await withProgress('Looking for what refers to it', async (report, signal) => {
    const queue = [...records]
    for (let at = 0; at < queue.length && at < 300; at++) {
      signal.throwIfAborted()
      report(at, queue.length)
      const { found, unknown: missing } = await referrers(queue[at])
      missing.forEach(name => unknown.add(name))
      for (const referrer of found) {
        if (own.has(key(referrer.record)) || cascade.has(key(referrer.record))) continue
        if (referrer.action === 'DELETE_SELF') { cascade.set(key(referrer.record), referrer.record); queue.push(referrer.record) }
        else holders.push(referrer)
      }
    }
    return true
  })
  if (!searched) return false
  const title = records.length === 1 ? `Delete ${records[0].recordName}?` : `Delete ${records.length} records?`
  const also = [...cascade.values()], blocking = holders.filter(referrer => referrer.action === 'VALIDATE'), dangling = holders.filter(referrer => referrer.action !== 'VALIDATE')
  const names = list => h('ul', { class: 'mono' }, list.slice(0, 12).map(record => h('li', null, `${record.recordType} ${record.recordName}`)), list.length > 12 && h('li', null, `and ${list.length - 12} more`))
  const sure = await openDialog(title, () => h('div', { class: 'prose' },
    also.length ? [h('p', null, h('strong', null, `${also.length} ${also.length === 1 ? 'record goes' : 'records go'} with it`), ', because a reference says so (DELETE_SELF):'), names(also)] : h('p', null, 'No other record goes with it.'),
    blocking.length > 0 && [h('p', null, h('strong', null, `${blocking.length} must keep it`), ' (VALIDATE), so the service refuses:'), names(blocking.map(referrer => referrer.record))],
    dangling.length > 0 && [h('p', null, `${dangling.length} refer to it and will lead nowhere:`), names(dangling.map(referrer => referrer.record))],
    unknown.size > 0 && h('p', { class: 'note' }, `Not searched, for want of an index: ${[...unknown].join(', ')}.`)), {
    actions: close => [button('Cancel', () => close(false)), button(also.length ? `Delete ${records.length + also.length} records` : 'Delete', () => close(true), { kind: 'danger', autofocus: true })],
  })
  if (!sure) return false
  const failed = []
  const deleted = []
  await withProgress('Deleting', async (report, signal) => {
    let done = 0
    for (const [zone, items] of byZone(records)) {
      for (let start = 0; start < items.length; start += 200) {
        signal.throwIfAborted()
        const batch = items.slice(start, start + 200)
        const reply = await modify(batch.map(record => ({ operationType: 'delete', record: { recordName: record.recordName, recordChangeTag: record.recordChangeTag } })), zone, { target, atomic: zone.zoneName === '_defaultZone' ? undefined : false })
        reply.forEach((item, index) => item.serverErrorCode ? failed.push(refusalOf(item, 'records/modify')) : deleted.push(batch[index]))
        report(done += batch.length, records.length)
      }
    }
  })
  announceWrite([], [...deleted, ...also])
  if (failed.length) say(`${failed.length} not deleted: ${failed[0].reason}`, { kind: 'bad', seconds: 12 })
  if (deleted.length) {
    const back = [...deleted, ...also]
    canUndo(`${back.length === 1 ? deleted[0].recordName + ' is' : back.length + ' records are'} deleted.`, async () => {
      const saved = []
      for (const [zone, items] of byZone(back)) {
        for (let start = 0; start < items.length; start += 200) {
          const reply = await modify(items.slice(start, start + 200).map(record => ({ operationType: 'forceUpdate', record: { recordName: record.recordName, recordType: record.recordType, fields: withoutFiles(record.fields), ...(record.parent ? { parent: { recordName: record.parent.recordName } } : {}) } })), zone, { target })
          for (const item of reply) if (item.serverErrorCode) throw refusalOf(item, 'records/modify'); else saved.push({ ...item, zoneID: item.zoneID ?? zone })
        }
      }
      announceWrite(saved)
      if (back.some(record => Object.values(record.fields).some(field => /^ASSET/.test(field.type ?? '')))) say('Files of the deleted records do not come back.')
    })
  }
  return deleted.length > 0
}

/** @param {CloudRecord[]} records @returns {Iterable<[ZoneID, CloudRecord[]]>} */
export function byZone(records) {
  /** @type {Map<string, [ZoneID, CloudRecord[]]>} */
  const zones = new Map()
  for (const record of records) {
    const zone = record.zoneID ?? { zoneName: '_defaultZone' }
    const key = `${zone.ownerRecordName ?? ''}/${zone.zoneName}`
    const known = zones.get(key)
    if (known) known[1].push(record)
    else zones.set(key, [zone, [record]])
  }
  return zones.values()
}

/**
 * Sets fields of several records, each with its tag.
 * @param {CloudRecord[]} records @param {Record<string, any>} fields
 */
export async function updateAll(records, fields) {
  const target = here()
  const saved = [], failed = []
  await withProgress('Saving', async (report, signal) => {
    let done = 0
    for (const [zone, items] of byZone(records)) {
      for (let start = 0; start < items.length; start += 200) {
        signal.throwIfAborted()
        const batch = items.slice(start, start + 200)
        const reply = await modify(batch.map(record => ({ operationType: 'update', record: { recordName: record.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag, fields } })), zone, { target, atomic: zone.zoneName === '_defaultZone' ? undefined : false })
        for (const item of reply) if (item.serverErrorCode) failed.push(refusalOf(item, 'records/modify')); else saved.push({ ...item, zoneID: item.zoneID ?? zone })
        report(done += batch.length, records.length)
      }
    }
  })
  announceWrite(saved)
  if (failed.length) say(`${failed.length} not saved: ${failed[0].reason}`, { kind: 'bad', seconds: 12 })
  if (saved.length) canUndo(`${saved.length} records are saved.`, async () => {
    const before = new Map(records.map(record => [record.recordName, record]))
    const restored = []
    for (const [zone, items] of byZone(saved)) {
      for (let start = 0; start < items.length; start += 200) {
        const reply = await modify(items.slice(start, start + 200).map(record => ({ operationType: 'update', record: { recordName: record.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag, fields: Object.fromEntries(Object.keys(fields).map(name => [name, before.get(record.recordName)?.fields[name] ?? { value: null }])) } })), zone, { target })
        for (const item of reply) if (item.serverErrorCode) throw refusalOf(item, 'records/modify'); else restored.push({ ...item, zoneID: item.zoneID ?? zone })
      }
    }
    announceWrite(restored)
  })
  return saved
}

