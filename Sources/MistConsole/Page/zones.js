// Zones with their sizes and tokens, and the feed of changes: what a client with a given token would get.

import { administration } from './administration.js'
import { addressOf, show, view } from './address.js'
import { button, copyButton, fill, h, icon } from './dom.js'
import { ask, askForm, labelled, menuButton, say, withProgress } from './dialogs.js'
import { whileShown } from './events.js'
import { refusalView } from './refusals.js'
import { actingUser, learn, loadCounts, session, userName } from './session.js'
import { bare, call, modify, refusalOf, zones } from './service.js'
import { VirtualTable } from './table.js'
import { briefDate, count, size, summary } from './values.js'
import { announceWrite } from './writes.js'

/** @typedef {{ database: string, ownerRecordName?: string, zoneName: string, isDeleted: boolean, records: number, recordBytes: number, assetBytes: number, changes: number, syncToken?: string }} ZoneSummary */

export async function zonesSection() { return view.item ? feed() : overview() }

async function overview() {
  const place = h('div', { class: 'section-body' })
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Zones and changes'), h('span', { class: 'space' }), view.scope === 'private' && !session.readOnly && button('New zone', create, { icon: 'plus', kind: 'primary' })), place)

  async function create() {
    const made = await askForm('New zone', labelled('Name', h('input', { name: 'name', required: true, autocomplete: 'off', spellcheck: 'false', maxlength: 255 })), 'Create', async data => {
      const reply = await call('zones/modify', { operations: [{ operationType: 'create', zone: { zoneID: { zoneName: String(data.get('name')).trim() } } }] })
      if (reply.zones[0].serverErrorCode) throw refusalOf(reply.zones[0], 'zones/modify')
    })
    if (made) await read()
  }

  async function drop(zone) {
    if (!await ask(`Delete the zone ${zone.zoneName}?`, 'All its records, shares and subscriptions go with it. Clients learn of it from changes/database.', 'Delete the zone', { kind: 'danger' })) return
    const reply = await call('zones/modify', { operations: [{ operationType: 'delete', zone: { zoneID: bare(zone) } }] })
    if (reply.zones[0].serverErrorCode) say(reply.zones[0].reason, { kind: 'bad' })
    if (session.administration) loadCounts()
    await read()
  }

  async function empty(zone) {
    if (!await ask(`Delete all records of ${zone.zoneName}?`, 'The zone stays, and clients get each deletion as a change.', 'Delete all records', { kind: 'danger' })) return
    let done = 0
    const deleted = []
    await withProgress('Emptying', async (report, signal) => {
      let token, more = true
      while (more) {
        signal.throwIfAborted()
        const reply = await call('changes/zone', { zones: [{ zoneID: bare(zone), ...(token ? { syncToken: token } : {}), desiredKeys: [] }] })
        const page = reply.zones[0]
        if (page.serverErrorCode) throw refusalOf(page, 'changes/zone')
        const alive = page.records.filter(record => !record.deleted)
        if (alive.length) {
          const items = await modify(alive.map(record => ({ operationType: 'forceDelete', record: { recordName: record.recordName } })), zone, { atomic: false })
          alive.forEach((record, index) => { if (!items[index].serverErrorCode) deleted.push({ ...record, zoneID: zone }) })
        }
        report(done += alive.length)
        token = page.syncToken; more = page.moreComing
      }
    })
    announceWrite([], deleted)
    await read()
    say(`${count(deleted.length)} records are deleted.`)
  }

  async function read() {
    try {
      // What the identity sees, with the sizes that the administration knows.
      const [seen, sizes] = await Promise.all([zones(), session.administration ? administration.zones(view.container, view.environment) : []])
      const database = view.scope === 'public' ? 'public' : 'private'
      const sizeOf = zone => sizes.find(item => item.database === database && item.zoneName === zone.zoneName && !item.isDeleted && (database === 'public' || item.ownerRecordName === (zone.ownerRecordName ?? actingUser())))
      const known = seen.map(zone => ({ zone: zone.zoneID, size: sizeOf(zone.zoneID), token: zone.syncToken }))
      const isShown = item => known.some(({ size }) => size === item)
      const others = sizes.filter(item => !isShown(item))
      fill(place,
        h('div', { class: 'card' }, h('header', null, h('h2', null, `${view.scope[0].toUpperCase()}${view.scope.slice(1)} database`), h('span', { class: 'badge' }, String(known.length))), known.length ? h('div', { class: 'scroll-x' }, zoneTable(known)) : h('div', { class: 'empty' }, view.scope === 'shared' ? 'No one shares a zone with this user.' : 'No zones.')),
        others.length > 0 && h('div', { class: 'card' }, h('header', null, h('h2', null, 'Others'), h('span', { class: 'note' }, 'of other users, and deleted ones')), h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' },
          h('thead', null, h('tr', null, ['Zone', 'Database', 'Owner', 'Records', 'Size'].map((title, at) => h('th', { scope: 'col', class: at > 2 ? 'number' : '' }, title)))),
          h('tbody', null, others.map(item => h('tr', null, h('td', { class: 'mono' }, item.isDeleted ? [h('s', null, item.zoneName), ' ', h('span', { class: 'badge bad' }, 'deleted')] : item.ownerRecordName && item.ownerRecordName !== actingUser() ? h('a', { href: addressOf({ section: 'zones', item: item.zoneName, scope: 'private', as: item.ownerRecordName === session.userRecordName ? '' : item.ownerRecordName, zone: '' }), title: 'Act as the owner' }, item.zoneName) : item.zoneName), h('td', null, item.database), h('td', null, userName(item.ownerRecordName)), h('td', { class: 'number' }, count(item.records)), h('td', { class: 'number' }, size(item.recordBytes + item.assetBytes)))))))))
    } catch (error) { fill(place, refusalView(error, { retry: read })) }
  }

  /** @param {{ zone: any, size?: ZoneSummary, token?: string }[]} known */
  function zoneTable(known) {
    const hasSizes = known.some(item => item.size), hasTokens = known.some(item => item.size?.syncToken || item.token)
    return h('table', { class: 'plain-table' },
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Zone'), h('th', { scope: 'col' }, 'Owner'), hasSizes && ['Records', 'Fields', 'Files', 'Changes'].map(title => h('th', { scope: 'col', class: 'number' }, title)), hasTokens && h('th', { scope: 'col' }, 'Sync token'), h('td'))),
      h('tbody', null, known.map(({ zone, size: sizes, token }) => {
        const value = sizes?.syncToken ?? token
        return h('tr', null,
          h('td', { class: 'mono' }, view.scope === 'public' ? zone.zoneName : h('a', { href: addressOf({ section: 'zones', item: zone.zoneName, owner: view.scope === 'shared' ? zone.ownerRecordName : '' }) }, zone.zoneName)), h('td', null, userName(zone.ownerRecordName)),
          hasSizes && [h('td', { class: 'number' }, sizes ? count(sizes.records) : ''), h('td', { class: 'number' }, sizes ? size(sizes.recordBytes) : ''), h('td', { class: 'number' }, sizes ? size(sizes.assetBytes) : ''), h('td', { class: 'number' }, sizes ? count(sizes.changes) : '')],
          hasTokens && h('td', { class: 'mono note token' }, value && [h('span', null, value.length > 26 ? `${value.slice(0, 24)}…` : value), copyButton(value, `Copy the token of ${zone.zoneName}`)]),
          h('td', { class: 'acts' }, view.scope !== 'public' && menuButton(`More about ${zone.zoneName}`, () => [
            { text: 'Changes', icon: 'zones', act: () => show({ item: zone.zoneName, owner: view.scope === 'shared' ? zone.ownerRecordName : '' }) },
            { text: 'Records', icon: 'records', act: () => show({ section: 'records', item: '', zone: zone.zoneName, owner: view.scope === 'shared' ? zone.ownerRecordName : '' }) },
            !session.readOnly && zone.zoneName !== '_defaultZone' && 'line',
            !session.readOnly && zone.zoneName !== '_defaultZone' && { text: 'Delete all records …', icon: 'trash', kind: 'danger', act: () => empty(zone) },
            !session.readOnly && zone.zoneName !== '_defaultZone' && { text: view.scope === 'shared' ? 'Leave …' : 'Delete the zone …', icon: 'trash', kind: 'danger', act: () => drop(zone) },
          ])))
      })))
  }

  await read()
  let timer = 0
  whileShown('change', element, () => { clearTimeout(timer); timer = setTimeout(read, 300) })
  return { element, commands: () => [view.scope === 'private' && !session.readOnly && { text: 'New zone', keys: 'n', act: create }].filter(Boolean) }
}

/** The feed of a zone as it grows. */
async function feed() {
  const zone = view.owner ? { zoneName: view.item, ownerRecordName: view.owner } : { zoneName: view.item }
  /** @type {any[]} */
  let rows = []
  let token = '', isBusy = false, pages = 0
  /** @type {string[]} */
  const tokens = []
  const table = new VirtualTable(), state = h('div', { class: 'table-end' }), place = h('div')
  const start = h('input', { class: 'typed', 'aria-label': 'From this token', placeholder: 'a sync token: shows what a client with it would get', spellcheck: 'false' })
  const element = h('section', { class: 'section full' },
    h('div', { class: 'section-head' }, h('a', { class: 'button bare', href: addressOf({ section: 'zones', item: '', owner: '' }), 'aria-label': 'All zones', title: 'All zones' }, icon('left')), h('h1', null, 'Changes of ', h('span', { class: 'mono-title' }, view.item)), h('span', { class: 'space' }), h('a', { class: 'button', href: addressOf({ section: 'records', item: '', zone: view.item, owner: view.owner }) }, icon('records'), h('span', null, 'Records'))),
    h('form', { class: 'filter-bar', onsubmit: event => { event.preventDefault(); read(start.value.trim()) } }, start, h('button', { type: 'submit', class: 'button' }, 'Show'), button('From the beginning', () => { start.value = ''; read('') }, { kind: 'plain named' })),
    place, table, state)
  table.configure({
    label: `Changes of ${view.item}`, key: row => row.key, columns: [
      { key: 'kind', title: 'what', width: 90, draw: (cell, row) => cell.append(h('span', { class: `badge ${row.record.deleted ? 'bad' : 'good'}` }, row.record.deleted ? 'deleted' : 'saved')) },
      { key: 'name', title: 'recordName', width: 220, kind: 'key', text: row => row.record.recordName },
      { key: 'type', title: 'recordType', width: 140, text: row => row.record.recordType ?? '' },
      { key: 'tag', title: 'changeTag', width: 90, kind: 'mono', text: row => row.record.recordChangeTag ?? '' },
      { key: 'modified', title: 'modified', width: 170, kind: 'quiet', text: row => row.record.modified ? briefDate(row.record.modified.timestamp) : '' },
      { key: 'by', title: 'by', width: 130, kind: 'quiet', text: row => userName(row.record.modified?.userRecordName) },
      { key: 'fields', title: 'fields', width: 300, text: row => Object.entries(row.record.fields ?? {}).map(([name, field]) => `${name}: ${summary(field, 40)}`).join('  ') },
    ],
    rowClass: row => row.isNew ? 'changed' : '',
    open: row => { if (!row.record.deleted && row.record.recordType) show({ section: 'records', item: row.record.recordType, record: row.record.recordName, zone: view.item, owner: view.owner }) },
  })

  /** @param {string} from */
  async function read(from) {
    rows = []; token = from; pages = 0; tokens.length = 0
    await follow(false)
  }

  /**
   * Reads the pages since the last token.
   * @param {boolean} isNew
   */
  async function follow(isNew) {
    if (isBusy) return
    isBusy = true
    try {
      let more = true
      while (more) {
        const reply = await call('changes/zone', { zones: [{ zoneID: bare(zone), ...(token ? { syncToken: token } : {}) }] })
        const page = reply.zones[0]
        if (page.serverErrorCode) throw refusalOf(page, 'changes/zone')
        pages++
        const names = new Set(page.records.map(record => record.recordName))
        // The feed has each record once, with its latest state.
        if (isNew) rows = rows.filter(row => !names.has(row.record.recordName))
        rows.push(...page.records.map(record => ({ key: record.recordName, record, isNew })))
        await learn(page.records)
        token = page.syncToken
        tokens.push(token)
        more = page.moreComing
        table.update(rows)
        drawState()
      }
      fill(place)
      if (isNew) table.activate(rows.length - 1)
    } catch (error) { fill(place, refusalView(error, { retry: () => read('') })) }
    isBusy = false
    drawState()
  }
  function drawState() {
    fill(state, h('span', null, `${count(rows.length)} changes on ${pages} pages`), token && [h('span', { class: 'mono note' }, token.length > 40 ? `${token.slice(0, 38)}…` : token), copyButton(token, 'Copy the last token'), button('Show what came after', () => follow(true), { kind: 'plain named', icon: 'refresh' })])
  }
  queueMicrotask(() => read(''))
  let timer = 0
  whileShown('change', element, change => { if (change.zoneName === view.item) { clearTimeout(timer); timer = setTimeout(() => follow(true), 200) } })
  return { element }
}
