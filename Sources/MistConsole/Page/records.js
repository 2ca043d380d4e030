// The records of a type: a table, its filters, and the record that is open.

import { addressOf, show, view } from './address.js'
import { button, fill, h, icon } from './dom.js'
import { codeView, menuButton, openDialog, openPopover, say, tabbed } from './dialogs.js'
import { commandOf, jsonOf, queryOf, swiftOf } from './comparators.js'
import { fieldEditor } from './editors.js'
import { whileShown } from './events.js'
import { filterBar } from './filters.js'
import { newRecord, recordPanel } from './record.js'
import { refusalView } from './refusals.js'
import { actingUser, countOf, countsOfView, forgetSchemas, learn, schema, session, userName } from './session.js'
import { ownFields, protocolType } from './schema-text.js'
import { lookup, pages, query, zoneOfView, zones } from './service.js'
import { VirtualTable } from './table.js'
import { briefDate, count, elementType, isList, summary } from './values.js'
import { remove, updateAll } from './writes.js'

/** @typedef {import('./service.js').CloudRecord} CloudRecord */

/** The zones in which a new record can be, the one that is shown first. */
export async function zonesForWriting() {
  if (view.scope === 'public') return [{ zoneName: '_defaultZone' }]
  const all = (await zones()).map(zone => zone.zoneID)
  const own = all.filter(zone => zone.zoneName !== '_defaultZone')
  const sorted = [...own, ...all.filter(zone => zone.zoneName === '_defaultZone')]
  return [...sorted.filter(zone => zone.zoneName === view.zone), ...sorted.filter(zone => zone.zoneName !== view.zone)]
}

const widths = {
  key: type => `widths ${view.container} ${type}`,
  read: type => { try { return JSON.parse(localStorage.getItem(widths.key(type)) ?? '{}') } catch { return {} } },
}

/**
 * The order in which fields are columns: what names a record first, what is long last.
 * @param {{ name: string, type: string }} field
 */
function rank(field) {
  if (/^(title|name|label|subject)$/i.test(field.name)) return 0
  const element = elementType(field.type)
  return element === 'ASSETID' || element === 'BYTES' ? 4 : isList(field.type) ? 3 : field.name.length > 24 || /body|text|description|content|settings|json/i.test(field.name) ? 2 : 1
}

const columnWidths = { STRING: 200, INT64: 90, DOUBLE: 90, TIMESTAMP: 165, BYTES: 150, REFERENCE: 160, LOCATION: 150, ASSETID: 90 }

/** What reads and writes files is asked for when it is needed. */
const transfer = () => import('./transfer.js')

/** The types of the database, where none is chosen. */
async function overview() {
  const place = h('div', { class: 'section-body' })
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Records'), h('span', { class: 'badge' }, `${view.scope}, ${view.environment}`), h('span', { class: 'space' }),
    !session.readOnly && button('New record', createHere, { icon: 'plus', kind: 'primary' })), place)
  try {
    const { types } = await schema()
    const shown = types.filter(type => type.name !== 'Users' || countOf('Users'))
    fill(place, !shown.length && view.environment === 'production' && session.administration
      ? h('div', { class: 'empty' }, icon('records'), h('h2', null, 'Production has no record types yet'), h('p', null, 'It has those that were deployed from development.'), button('Compare and deploy', () => show({ section: 'schema' }), { icon: 'upload', kind: 'named' }))
      : !shown.length ? h('div', { class: 'empty' }, icon('records'), h('h2', null, 'No record types yet'), h('p', null, session.administration ? 'The first record that a client saves makes its type. Or make one here, or import a schema.' : 'A service does not tell which types there are. Name one, or look at the changes of a zone.'),
        h('pre', { class: 'code' }, `mistkit records create --type Note --field title=Hello --database ${view.scope}`), !session.administration && typeForm())
      : h('div', { class: 'card' }, h('table', { class: 'plain-table' }, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Record type'), h('th', { scope: 'col' }, 'Fields'), h('th', { scope: 'col', class: 'number' }, 'Records'))),
        h('tbody', null, shown.map(type => h('tr', null, h('td', null, h('a', { href: addressOf({ section: 'records', item: type.name }) }, type.name)), h('td', { class: 'note' }, ownFields(type).map(field => field.name).join(', ') || 'none'), h('td', { class: 'number' }, countOf(type.name) === undefined ? '' : count(countOf(type.name) ?? 0))))))),
      shown.length > 0 && !session.administration && typeForm())
  } catch (error) { fill(place, refusalView(error, { retry: () => show({}) })) }
  return element
}

/** Asks for a type that nothing has told of. */
function typeForm() {
  const input = h('input', { 'aria-label': 'Record type', placeholder: 'Record type', spellcheck: 'false' })
  return h('form', { class: 'form-actions', onsubmit: event => { event.preventDefault(); if (input.value.trim()) show({ item: input.value.trim() }) } }, input, h('button', { type: 'submit', class: 'button' }, 'Show'))
}

async function createHere() {
  const saved = await newRecord(view.item, await zonesForWriting())
  if (saved) show({ section: 'records', item: saved.recordType, record: saved.recordName })
}

/**
 * The section.
 * @returns {Promise<{ element: Element, update?: (view: any, old: any) => boolean, commands?: () => any[] }>}
 */
export async function recordsSection() {
  if (!view.item) return { element: await overview() }
  const recordType = view.item
  /** @type {CloudRecord[]} */
  let rows = []
  /** @type {string | undefined} */
  let marker
  let isDone = false, isLoading = false, failure, generation = 0, fetched = 0, learned = -1
  /** @type {{ name: string, type: string, isEncrypted?: boolean }[]} */
  let fields = []
  const touched = new Set(), gone = new Set()
  /** @type {AbortController | undefined} */
  let loadingAll

  const readFields = async () => {
    const known = await schema().catch(() => ({ types: [], roles: [] }))
    fields = ownFields(known.types.find(type => type.name === recordType)).map(field => ({ name: field.name, type: protocolType(field.type), isEncrypted: field.type.startsWith('ENCRYPTED') }))
  }
  await readFields()
  const typeOf = name => fields.find(field => field.name === name)?.type
  const wanted = () => queryOf(recordType, view.filter, view.sort, typeOf)

  const table = new VirtualTable()
  const end = h('div', { class: 'table-end' })
  const place = h('div')
  const fresh = h('button', { type: 'button', class: 'button plain', hidden: true, onclick: () => reload() })
  const number = h('span', { class: 'badge', id: 'record-count' })
  const selection = h('div', { class: 'selection-bar', hidden: true, role: 'group', 'aria-label': 'Selected records' })
  const bar = filterBar({ fields: () => fields, typeOf })
  const panel = recordPanel({ close: () => { const last = view.record; show({ record: '' }); table.focus(); const at = rows.findIndex(row => row.recordName === last); if (at >= 0) table.activate(at) }, move: by => {
    const at = rows.findIndex(row => row.recordName === view.record), next = rows[at + by]
    if (next) { show({ record: next.recordName }, true); table.activate(at + by) }
  } })

  /** All columns that the table can have. */
  function allColumns() {
    const saved = widths.read(recordType)
    return [
      { key: '@recordName', title: 'recordName', width: saved['@recordName'] ?? 180, kind: 'key', sortable: true, text: row => row.recordName },
      ...[...fields].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)).map(field => {
        const element = elementType(field.type), isNumber = ['INT64', 'DOUBLE'].includes(field.type)
        return { key: field.name, title: field.name, note: field.type === 'ASSETID' ? 'ASSET' : field.type.replace('ASSETID_LIST', 'ASSET_LIST'), width: saved[field.name] ?? Math.max(columnWidths[element] ?? 140, field.name.length * 8 + field.type.length * 7 + 34), kind: isNumber ? 'number' : ['BYTES', 'REFERENCE'].includes(element) ? 'mono' : '', sortable: !isList(field.type) && element !== 'ASSETID', text: row => summary(row.fields?.[field.name]) }
      }),
      { key: '@modified', title: 'modified', width: saved['@modified'] ?? 165, kind: 'quiet', sortable: true, text: row => row.modified ? briefDate(row.modified.timestamp) : '' },
      { key: '@modifiedBy', title: 'modifiedBy', width: saved['@modifiedBy'] ?? 140, kind: 'quiet', text: row => userName(row.modified?.userRecordName) },
      { key: '@created', title: 'created', width: saved['@created'] ?? 165, kind: 'quiet', sortable: true, text: row => row.created ? briefDate(row.created.timestamp) : '' },
      { key: '@createdBy', title: 'createdBy', width: saved['@createdBy'] ?? 140, kind: 'quiet', text: row => userName(row.created?.userRecordName) },
      { key: '@zone', title: 'zone', width: saved['@zone'] ?? 120, kind: 'quiet', text: row => row.zoneID?.zoneName ?? '' },
      { key: '@tag', title: 'changeTag', width: saved['@tag'] ?? 90, kind: 'mono', text: row => row.recordChangeTag ?? '' },
    ]
  }

  function columns() {
    const all = allColumns()
    if (view.columns.length) return view.columns.flatMap(key => all.find(column => column.key === key) ?? [])
    return all.filter(column => !['@modifiedBy', '@created', '@createdBy', '@tag'].includes(column.key) && (column.key !== '@zone' || (view.scope !== 'public' && (!view.zone || view.zone === '*'))))
  }

  const keyOf = row => `${row.zoneID?.ownerRecordName ?? ''}/${row.zoneID?.zoneName ?? ''}/${row.recordName}`
  function configure() {
    table.configure({
      label: `Records of ${recordType}`, columns: columns(), key: keyOf, selectable: true, sorts: view.sort,
      rowClass: row => gone.has(keyOf(row)) ? 'gone' : touched.has(keyOf(row)) ? 'changed' : '',
      open: row => { touched.delete(keyOf(row)); show({ record: row.recordName }); table.redraw() },
      sort: (key, add) => {
        const current = view.sort.find(sort => sort === key || sort === `-${key}`)
        const next = !current ? [key] : current === key ? [`-${key}`] : []
        show({ sort: add ? [...view.sort.filter(sort => sort !== current), ...next] : next })
      },
      resize: (key, width) => localStorage.setItem(widths.key(recordType), JSON.stringify({ ...widths.read(recordType), [key]: width })),
      select: drawSelection, end: () => more(),
    })
  }

  async function reload() {
    generation++
    rows = []; marker = undefined; isDone = false; failure = undefined; fetched = 0
    isLoading = false
    touched.clear(); gone.clear(); table.selected.clear()
    fresh.hidden = true
    loadingAll?.abort()
    drawSelection()
    table.update(rows)
    if (table.viewport) table.viewport.scrollTop = 0
    await more()
  }

  /**
   * The next page, if there is one.
   * @param {AbortSignal} [signal]
   */
  async function more(signal) {
    if (isLoading || isDone || failure) return
    isLoading = true
    const mine = generation, began = performance.now()
    try {
      const page = await query(wanted(), { marker, target: { signal } })
      if (mine !== generation) return
      const isUnknown = page.records.some(record => Object.keys(record.fields ?? {}).some(name => !fields.some(field => field.name === name)))
      if (isUnknown && !(session.administration && learned === generation)) { learned = generation; await learn(page.records); if (session.administration) forgetSchemas(); await readFields(); configure(); bar.draw() }
      const isFirst = rows.length === 0
      rows.push(...page.records.filter(record => !record.serverErrorCode))
      fetched = performance.now() - began
      marker = page.continuationMarker
      isDone = !marker
      failure = undefined
      isLoading = false
      drawState()
      table.update(rows)
      if (isFirst) { const at = rows.findIndex(row => row.recordName === view.record); if (at >= 0) table.activate(at) }
    } catch (error) {
      if (mine !== generation) return
      isLoading = false
      if (error.name !== 'AbortError') failure = error
      drawState()
    }
  }

  async function loadAll() {
    loadingAll = new AbortController()
    const { signal } = loadingAll
    drawState()
    while (!isDone && !failure && !signal.aborted) { if (isLoading) await new Promise(resolve => setTimeout(resolve, 20)); else await more(signal) }
    loadingAll = undefined
    drawState()
  }

  /** Counts by going through the pages without fields, as `mistkit records count` does. */
  async function countAll(anchor) {
    let total = 0
    anchor.disabled = true
    try { for await (const page of pages(wanted(), { keys: [] })) { total += page.length; number.textContent = `${count(total)} …` } } catch (error) { say(error.message, { kind: 'bad' }) }
    counted = { key: JSON.stringify([view.filter, view.zone, view.scope]), total }
    drawState()
  }
  /** @type {{ key: string, total: number } | undefined} */
  let counted

  const total = () => isDone ? rows.length - gone.size : counted?.key === JSON.stringify([view.filter, view.zone, view.scope]) ? counted.total : view.filter.length ? undefined : atLeast(countOf(recordType))
  // A count that is older than the rows is no count.
  const atLeast = number => number !== undefined && number >= rows.length ? number : undefined

  function drawState() {
    const known = total()
    number.textContent = failure ? '' : known === undefined ? (isDone ? count(rows.length) : `${count(rows.length)} or more`) : count(known)
    number.hidden = Boolean(failure)
    table.hidden = Boolean(failure) || (isDone && !rows.length)
    fill(place, failure ? refusalView(failure, { type: recordType, retry: () => { failure = undefined; forgetSchemas(); readFields().then(configure); return reload() } })
      : isDone && !rows.length && h('div', { class: 'empty' }, icon('records'), h('h2', null, view.filter.length ? 'No record matches' : `No ${recordType} here`),
        h('p', null, view.filter.length ? 'All conditions have to hold.' : [`${identityWords()} sees no ${recordType} in `, view.scope === 'public' ? 'the public database' : view.zone && view.zone !== '*' ? `the zone ${view.zone}` : 'any zone', ` of ${view.environment}.`]),
        elsewhere(),
        h('div', { class: 'remedies' }, view.filter.length > 0 && button('Remove the filters', () => show({ filter: [] })), !session.readOnly && button(`New ${recordType}`, createHere, { icon: 'plus' }))))
    fill(end,
      h('span', null, isLoading ? 'Reading …' : `${count(rows.length)} shown`, fetched && !isLoading ? h('span', { class: 'note' }, ` · last page in ${fetched < 10 ? fetched.toFixed(1) : Math.round(fetched)} ms`) : null),
      loadingAll ? [h('progress', { 'aria-label': 'Loading all', ...(known ? { max: known } : {}), value: known ? rows.length : undefined }), button('Stop', () => loadingAll?.abort(), { icon: 'stop', kind: 'plain named' })]
        : !isDone && !failure && [button('Load all', loadAll, { kind: 'plain named' }), known === undefined && button('Count', event => countAll(event.currentTarget), { kind: 'plain named' })],
      fresh, h('span', { class: 'space' }), session.readOnly && h('span', { class: 'badge' }, 'read only'))
    end.hidden = Boolean(failure)
  }

  const identityWords = () => view.as === 'nobody' ? 'Nobody' : view.as === 'server' ? 'The server key' : userName(actingUser()) || 'This identity'

  /** Where there are records of the type, when there are none here. */
  function elsewhere() {
    if (view.filter.length) return null
    const here = new Set(countsOfView())
    const others = session.counts.filter(item => item.container === view.container && item.recordType === recordType && !here.has(item)).slice(0, 5)
    return others.length > 0 && h('p', null, 'There are some elsewhere: ', others.map((item, index) => [index > 0 && ', ', h('a', { href: addressOf({ item: recordType, environment: item.environment, scope: item.database, zone: '', as: item.ownerRecordName && item.ownerRecordName !== session.userRecordName ? item.ownerRecordName : '' }) }, `${count(item.records)} in ${item.environment}, ${item.database}${item.ownerRecordName ? `, ${userName(item.ownerRecordName)}` : ''}`)]), '.')
  }

  const selectedRows = () => rows.filter(row => table.selected.has(keyOf(row)))
  function drawSelection() {
    const chosen = table.selected.size
    selection.hidden = !chosen
    if (!chosen) return
    fill(selection, h('strong', null, `${count(chosen)} selected`),
      !session.readOnly && [button('Set a field …', editSeveral, { icon: 'edit', kind: 'named' }), button('Delete …', async () => { if (await remove(selectedRows())) { table.selected.clear(); drawSelection(); table.redraw() } }, { icon: 'trash', kind: 'named' })],
      button('Clear', () => { table.selected.clear(); drawSelection(); table.redraw() }, { kind: 'plain named' }))
  }

  async function editSeveral() {
    const records = selectedRows()
    const changes = await openDialog(`Set a field of ${records.length} records`, close => {
      /** @type {any} */
      let editor
      const slot = h('div')
      const choose = h('select', { 'aria-label': 'Field', onchange: () => draw() }, fields.map(field => h('option', { value: field.name }, `${field.name} · ${field.type}`)))
      const draw = () => { const field = fields.find(field => field.name === choose.value); if (field) { editor = fieldEditor(field.name, field.type, undefined, { isEncrypted: field.isEncrypted }); fill(slot, editor.element) } }
      draw()
      return h('form', { class: 'form', onsubmit: event => { event.preventDefault(); try { close({ [choose.value]: editor.read() }) } catch { /* The editor says it. */ } } }, choose, slot, h('div', { class: 'form-actions' }, h('span', { class: 'space' }), button('Cancel', () => close(undefined)), h('button', { type: 'submit', class: 'button primary' }, 'Save')))
    }, { kind: 'form' })
    if (changes) await updateAll(records, changes)
  }

  function chooseColumns(anchor) {
    openPopover(anchor, close => {
      const chosen = new Set(columns().map(column => column.key))
      return h('div', { class: 'form' }, h('h2', null, 'Columns'), h('div', null, allColumns().map(column => h('div', null, h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: chosen.has(column.key), onchange: event => { if (event.target.checked) chosen.add(column.key); else chosen.delete(column.key); show({ columns: [...chosen] }, true) } }), column.title)))),
        button('As at first', () => { close(); show({ columns: [] }, true) }, { kind: 'plain named' }))
    }, { label: 'Columns', kind: 'padded' })
  }

  function showQuery() {
    const query = wanted()
    openDialog('This query', () => h('div', { class: 'form' }, tabbed('The query', { Command: () => codeView(commandOf(view, query)), Swift: () => codeView(swiftOf(query, view)), JSON: () => codeView(jsonOf(query, zoneOfView())) })), { kind: 'wide' })
  }

  /** @param {'ndjson' | 'csv'} format */
  const exportAs = async format => (await transfer()).exportRecords(wanted(), format, total())
  /** @param {File} [file] */
  const importFile = async file => (await transfer()).importRecords(recordType, await zonesForWriting(), file)

  /** @returns {Parameters<typeof import('./dialogs.js').openMenu>[2]} */
  const moreItems = () => [
    { text: 'Export as NDJSON', icon: 'download', act: () => exportAs('ndjson') },
    { text: 'Export as CSV', icon: 'download', act: () => exportAs('csv') },
    !session.readOnly && { text: 'Import a file …', icon: 'upload', act: () => importFile() },
    'line',
    { text: 'Read again', icon: 'refresh', note: 'R', act: reload },
    { text: 'Open the schema', icon: 'schema', act: () => show({ section: 'schema', item: recordType, record: '' }) },
  ]

  const list = h('div', { class: 'list' },
    h('div', { class: 'section-head' }, h('h1', null, recordType), number, h('span', { class: 'space' }),
      button('Query as …', showQuery, { icon: 'code', title: 'This query as JSON, Swift or a command' }), button('Columns', event => chooseColumns(event.currentTarget), { icon: 'columns', 'aria-haspopup': 'dialog' }),
      menuButton('More actions', moreItems),
      !session.readOnly && button('New', createHere, { icon: 'plus', kind: 'primary', title: `New ${recordType}` })),
    bar.element, selection, place, table, end)
  const element = h('section', { class: `records ${view.record ? 'open' : ''}`, 'aria-label': recordType,
    ondragover: event => { if (event.dataTransfer.types.includes('Files') && !panel.isEditing) event.preventDefault() },
    ondrop: event => { if (panel.isEditing || !event.dataTransfer.files[0]) return; event.preventDefault(); importFile(event.dataTransfer.files[0]) } }, list)

  function drawPanel() {
    element.classList.toggle('open', Boolean(view.record))
    if (!view.record) { panel.element.remove(); return }
    element.append(panel.element)
    const row = rows.find(row => row.recordName === view.record)
    panel.load(view.record, row?.zoneID ?? zoneOfView())
  }

  // What this page wrote.
  const written = event => {
    if (!element.isConnected) { document.removeEventListener('records-written', written); return }
    const { saved, deleted } = event.detail
    for (const record of saved) {
      if (record.recordType !== recordType) continue
      const at = rows.findIndex(row => row.recordName === record.recordName && (row.zoneID?.zoneName ?? '') === (record.zoneID?.zoneName ?? ''))
      if (at >= 0) { rows[at] = { ...rows[at], ...record }; gone.delete(keyOf(rows[at])) } else rows.unshift(record)
    }
    const names = new Set(deleted.map(keyOf))
    if (names.size) rows = rows.filter(row => !names.has(keyOf(row)))
    forgetSchemas()
    readFields().then(() => { configure(); drawState(); table.update(rows) })
  }
  document.addEventListener('records-written', written)

  // What other clients wrote.
  /** @type {Map<string, { zone: any, saved: Set<string>, deleted: Set<string> }>} */
  const waiting = new Map()
  let timer = 0
  whileShown('change', element, change => {
    const database = view.scope === 'public' ? 'public' : 'private'
    if (change.container !== view.container || change.environment !== view.environment || change.database !== database) return
    if (view.scope === 'private' && change.ownerRecordName !== actingUser()) return
    if (view.zone && view.zone !== '*' && view.scope !== 'public' && change.zoneName !== view.zone) return
    const known = waiting.get(change.zoneName) ?? { zone: { zoneName: change.zoneName, ...(change.ownerRecordName ? { ownerRecordName: change.ownerRecordName } : {}) }, saved: new Set(), deleted: new Set() }
    change.saved.forEach(name => known.saved.add(name))
    change.deleted.forEach(name => known.deleted.add(name))
    waiting.set(change.zoneName, known)
    clearTimeout(timer)
    timer = setTimeout(takeChanges, 250)
  })
  async function takeChanges() {
    const all = [...waiting.values()]
    waiting.clear()
    let isNew = 0
    for (const { zone, saved, deleted } of all) {
      const same = row => (row.zoneID?.zoneName ?? '_defaultZone') === zone.zoneName
      const byName = new Map(rows.filter(same).map(row => [row.recordName, row]))
      for (const name of deleted) {
        const row = byName.get(name)
        if (row) gone.add(keyOf(row))
      }
      const names = [...saved].slice(0, 200)
      if (!names.length) continue
      const found = await lookup(names, zone).catch(() => [])
      for (const record of found) {
        if (record.serverErrorCode || record.recordType !== recordType) continue
        const row = byName.get(record.recordName)
        if (!row) { if (!rows.some(other => other.recordName === record.recordName)) isNew++; continue }
        if (row.recordChangeTag === record.recordChangeTag) continue
        Object.assign(row, record, { zoneID: row.zoneID })
        touched.add(keyOf(row))
        if (view.record === row.recordName && panel.record?.recordChangeTag !== record.recordChangeTag) panel.noteChange()
      }
      if (saved.size > 200) isNew += saved.size - 200
    }
    if (isNew) { fresh.hidden = false; fresh.textContent = `${count(isNew)} new or changed: show` }
    if (!rows.length && isNew) await reload()
    drawState()
    table.redraw()
  }
  whileShown('session', element, drawState)
  whileShown('restored', element, () => { forgetSchemas(); readFields().then(() => { configure(); reload() }) })
  whileShown('schema', element, () => { forgetSchemas(); readFields().then(() => { configure(); bar.draw(); if (failure) { failure = undefined; reload() } }) })

  configure()
  drawState()
  queueMicrotask(() => { reload(); drawPanel() })
  return {
    element,
    /** Takes another view of the same type without beginning again. */
    update(now, old) {
      const same = ['section', 'item', 'container', 'environment', 'scope', 'zone', 'owner', 'as'].every(key => now[key] === old[key])
      if (!same) return false
      if (String(now.filter) !== String(old.filter) || String(now.sort) !== String(old.sort)) { bar.draw(); configure(); reload() }
      if (String(now.columns) !== String(old.columns)) configure()
      if (now.record !== old.record) drawPanel()
      return true
    },
    commands: () => [
      { text: 'Filter these records', keys: 'f', act: () => bar.focus() },
      !session.readOnly && { text: `New ${recordType}`, keys: 'n', act: createHere },
      { text: 'Read again', keys: 'r', act: reload },
      { text: 'Choose columns', act: () => chooseColumns(element.querySelector('[aria-haspopup=dialog]')) },
      { text: 'This query as JSON, Swift or a command', keys: 'q', act: showQuery },
      { text: 'Load all records', act: loadAll },
      { text: 'Export as NDJSON', act: () => exportAs('ndjson') },
      { text: 'Export as CSV', act: () => exportAs('csv') },
      !session.readOnly && { text: 'Import a file', act: () => importFile() },
      view.record && !session.readOnly && { text: 'Edit this record', keys: 'e', act: () => panel.edit() },
      { text: 'To the table', keys: 't', act: () => table.focus() },
    ].filter(Boolean),
  }
}

