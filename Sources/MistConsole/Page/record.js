// One record: all its fields by type, what refers to it, and the form that edits it.

import { addressOf, show, view } from './address.js'
import { button, copyButton, fill, h, saveFile } from './dom.js'
import { askForm, labelled, menuButton, openDialog, say } from './dialogs.js'
import { fieldEditor } from './editors.js'
import { drawMap } from './map.js'
import { refusalView } from './refusals.js'
import { schema, session, userName } from './session.js'
import { ownFields, protocolType } from './schema-text.js'
import { fileAddress, lookup, refusalOf, writeJSON, zones } from './service.js'
import { ago, areEqual, elementType, fieldTypes, guess, hex, isList, localDate, parsed, readerZone, safeBytes, size, summary, typeOf, utcDate } from './values.js'
import { create, referrers, remove, update } from './writes.js'

/** @typedef {import('./service.js').CloudRecord} CloudRecord */

/** @param {CloudRecord} record */
export const plainRecord = record => ({ recordName: record.recordName, recordType: record.recordType, fields: record.fields })

/**
 * A link to a record of the same database.
 * @param {{ recordName: string, zoneID?: any }} reference @param {string} [recordType]
 */
export function recordLink(reference, recordType) {
  return h('a', { class: 'mono', href: addressOf({ section: 'records', item: recordType ?? view.item, record: reference.recordName, ...(reference.zoneID && view.scope !== 'public' ? { zone: reference.zoneID.zoneName } : {}) }) }, reference.recordName)
}

/** @param {any} value @param {string} type Of an element. @param {string} name */
function elementView(value, type, name) {
  switch (type) {
    case 'TIMESTAMP': return h('div', null, h('div', null, localDate(Number(value)), h('span', { class: 'note' }, ` · ${readerZone} · ${ago(Number(value))}`)), h('div', { class: 'note mono' }, `${utcDate(Number(value))} · ${value}`))
    case 'REFERENCE': return h('div', null, h('button', { type: 'button', class: 'link-button mono', onclick: () => follow(value) }, value.recordName), h('span', { class: 'note' }, ` ${({ DELETE_SELF: 'deletes this record with it', VALIDATE: 'must exist', NONE: '' })[value.action ?? 'NONE'] ?? value.action}`))
    case 'LOCATION': {
      const more = Object.entries(value).filter(([key]) => key !== 'latitude' && key !== 'longitude').map(([key, part]) => `${key} ${key === 'timestamp' ? utcDate(part) : part}`)
      return h('div', null, h('span', { class: 'mono' }, `${value.latitude}, ${value.longitude}`), more.length > 0 && h('div', { class: 'note' }, more.join(' · ')))
    }
    case 'ASSETID': return assetView(value, name)
    case 'BYTES': {
      const bytes = safeBytes(String(value))
      if (!bytes) return h('span', { class: 'mono' }, String(value))
      const kind = guess(bytes), picture = kind.type && pictureView(new Blob([/** @type {any} */ (bytes)], { type: kind.type }), name)
      return h('div', null, h('div', { class: 'note' }, `${size(bytes.length)}, probably ${kind.name} `, button('Download', () => saveFile(`${name}.bin`, new Blob([/** @type {any} */ (bytes)])), { icon: 'download', quiet: true }), copyButton(String(value), 'Copy as base64')), picture,
        kind.text !== undefined && h('pre', { class: 'code' }, kind.text.slice(0, 2000)), h('div', { class: 'hex', tabindex: 0, role: 'group', 'aria-label': `${name} in hexadecimal digits` }, dump(bytes)))
    }
    case 'STRING': {
      const json = parsed(value)
      return json === undefined ? h('span', null, value) : h('pre', { class: 'code' }, JSON.stringify(json, null, 2))
    }
    default: return h('span', { class: 'mono' }, typeof value === 'object' ? writeJSON(value) : String(value))
  }
}

/**
 * A record by its name. Where all zones are shown, a link does not say in which one it is.
 * @param {string} name @param {import('./service.js').ZoneID} [zone] @returns {Promise<CloudRecord>}
 */
async function find(name, zone) {
  const places = zone || view.scope === 'public' ? [zone] : (await zones()).map(item => item.zoneID)
  let found
  for (const place of places) {
    [found] = await lookup([name], place)
    if (!found.serverErrorCode) { found.zoneID ??= place; break }
  }
  return found ?? /** @type {any} */ ({ recordName: name, serverErrorCode: 'NOT_FOUND', reason: 'This identity sees no zone.' })
}

/**
 * A picture, unless the browser cannot show it.
 * @param {Blob} blob @param {string} name
 */
function pictureView(blob, name) {
  const address = URL.createObjectURL(blob), picture = h('img', { class: 'picture', alt: `${name} as a picture`, onload: () => URL.revokeObjectURL(address), onerror: () => picture.remove(), src: address })
  return picture
}

/**
 * Lines of 12 bytes with their offsets and letters.
 * @param {Uint8Array} bytes
 */
function dump(bytes) {
  const lines = []
  for (let start = 0; start < Math.min(bytes.length, 1200); start += 12) {
    const part = bytes.subarray(start, start + 12)
    lines.push(`${start.toString(16).padStart(4, '0')}  ${hex(part).padEnd(35)}  ${Array.from(part, byte => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·').join('')}`)
  }
  if (bytes.length > 1200) lines.push(`… ${size(bytes.length - 1200)} more`)
  return lines.join('\n')
}

/** @param {any} asset @param {string} name */
function assetView(asset, name) {
  const address = asset.downloadURL && fileAddress(asset.downloadURL, name)
  const preview = h('div')
  if (address && asset.size < 8_000_000) {
    // What the file is shows in its first bytes, since the service keeps no type of it.
    fetch(address).then(response => response.ok ? response.blob() : undefined).then(async blob => {
      if (!blob) return
      const kind = guess(new Uint8Array(await blob.slice(0, 64).arrayBuffer()))
      if (kind.type) fill(preview, pictureView(new Blob([blob], { type: kind.type }), name))
      else fill(preview, h('span', { class: 'note' }, `Probably ${kind.name}.`))
    }, () => fill(preview, h('span', { class: 'note' }, 'The file cannot be read from here.')))
  }
  return h('div', null, h('div', { class: 'note' }, `${size(asset.size)} · checksum ${asset.fileChecksum}`), preview,
    address && button('Download', async () => {
      try { const response = await fetch(address); if (!response.ok) throw new Error(`The host of the file answers ${response.status}.`); saveFile(name, await response.blob()) } catch (error) { say(error.message, { kind: 'bad' }) }
    }, { icon: 'download', kind: 'named' }))
}

/**
 * Goes to the record of a reference, whose type only the record itself tells.
 * @param {any} reference
 */
async function follow(reference) {
  const zone = reference.zoneID
  try {
    const [record] = await lookup([reference.recordName], zone)
    if (record.serverErrorCode) throw refusalOf(record, 'records/lookup')
    show({ section: 'records', item: record.recordType, record: record.recordName, filter: [], sort: [], columns: [], tab: '', ...(zone && view.scope !== 'public' && view.zone && view.zone !== '*' ? { zone: zone.zoneName } : {}) })
  } catch (error) { say(`${reference.recordName}: ${error.message}`, { kind: 'bad' }) }
}

/** @param {string} name @param {import('./service.js').Field} field @param {Set<string>} changed */
function fieldView(name, field, changed) {
  const type = field.type ?? typeOf(field.value), element = elementType(type)
  const isNone = field.value === null || field.value === undefined
  const places = element === 'LOCATION' && !isNone ? [field.value].flat() : []
  return h('div', { class: `field ${changed.has(name) ? 'changed-there' : ''}`, 'data-field': name },
    h('div', { class: 'name' }, name, h('span', { class: 'type' }, (isNone ? '' : type) + (field.isEncrypted ? ', encrypted' : '')), h('span', { class: 'space' }), changed.has(name) && h('span', { class: 'badge warn' }, 'changed'), !isNone && ['STRING', 'INT64', 'DOUBLE'].includes(type) && copyButton(String(field.value), `Copy ${name}`)),
    h('div', { class: `value ${element}` },
      isNone ? h('span', { class: 'none' }, 'no value')
        : isList(type) ? field.value.length ? h('ul', { class: 'items' }, field.value.map((item, index) => h('li', null, elementView(item, element, `${name} ${index + 1}`)))) : h('span', { class: 'none' }, 'empty list')
          : elementView(field.value, element, name),
      places.length > 0 && drawMap(places, { label: name })))
}

/**
 * The panel of a record.
 * @param {{ close: () => void, move: (by: number) => void }} hooks
 */
export function recordPanel(hooks) {
  const element = h('aside', { class: 'panel', 'aria-label': 'Record', onkeydown: event => { if (event.key === 'Escape' && !isEditing) hooks.close() } })
  /** @type {CloudRecord | undefined} */
  let current
  let isEditing = false
  /** @type {Set<string>} */
  let changed = new Set()

  /** @param {CloudRecord} record @param {boolean} [again] Marks the fields that differ from what was shown. */
  function showRecord(record, again = false) {
    changed = new Set()
    if (again && current?.recordName === record.recordName) {
      for (const name of new Set([...Object.keys(record.fields), ...Object.keys(current.fields)])) if (!areEqual(record.fields[name]?.value ?? null, current.fields[name]?.value ?? null)) changed.add(name)
    }
    current = record
    isEditing = false
    drawRecord()
  }

  function drawRecord() {
    const record = /** @type {CloudRecord} */ (current)
    const names = Object.keys(record.fields).sort((a, b) => a.localeCompare(b))
    const who = part => part && [userName(part.userRecordName), h('span', { class: 'note' }, ` · ${localDate(part.timestamp)} · ${ago(part.timestamp)}`)]
    const fact = (name, ...content) => content[0] ? h('div', { class: 'field' }, h('div', { class: 'name' }, name), h('div', { class: 'value' }, content)) : null
    const canWrite = !session.readOnly && !record.recordType?.startsWith('cloudkit.')
    const back = h('div')
    fill(element,
      h('header', null,
        h('div', { class: 'titles' }, h('h1', null, record.recordName), h('span', { class: 'note' }, record.recordType)),
        button('Previous record', () => hooks.move(-1), { icon: 'up', quiet: true }), button('Next record', () => hooks.move(1), { icon: 'down', quiet: true }),
        copyButton(record.recordName, 'Copy the name'),
        menuButton('More', () => [
          { text: 'Duplicate …', icon: 'copy', act: () => duplicate(record) },
          { text: 'Show as JSON', icon: 'code', act: () => showJSON(record) },
          { text: 'Read again', icon: 'refresh', act: () => load(record.recordName, record.zoneID, true) },
          record.recordType?.startsWith('cloudkit.') ? false : { text: 'Share …', icon: 'shares', act: () => show({ section: 'shares', item: record.recordName, record: '' }) },
          canWrite && 'line',
          canWrite && { text: 'Delete …', icon: 'trash', kind: 'danger', act: async () => { if (await remove([record])) hooks.close() } },
        ]),
        button('Close the record', hooks.close, { icon: 'close', quiet: true })),
      h('div', { class: 'panel-body', tabindex: 0, role: 'group', 'aria-label': 'Fields' },
        names.map(name => fieldView(name, record.fields[name], changed)),
        !names.length && h('p', { class: 'note' }, 'The record has no fields.'),
        h('h2', { class: 'group-head' }, 'The record itself'),
        fact('modified', who(record.modified)), fact('created', who(record.created)),
        fact('recordChangeTag', h('span', { class: 'mono' }, record.recordChangeTag)),
        fact('zone', record.zoneID && [h('span', { class: 'mono' }, record.zoneID.zoneName), record.zoneID.ownerRecordName && h('span', { class: 'note' }, ` of ${userName(record.zoneID.ownerRecordName)}`)]),
        fact('parent', record.parent && h('button', { type: 'button', class: 'link-button mono', onclick: () => follow({ ...record.parent, zoneID: record.parent?.zoneID ?? record.zoneID }) }, record.parent.recordName)),
        fact('share', record.share && h('a', { class: 'mono', href: addressOf({ section: 'shares', item: record.share.recordName }) }, record.share.recordName)),
        fact('short link', record.shortGUID && h('span', { class: 'mono' }, record.shortGUID)),
        h('h2', { class: 'group-head' }, 'What refers to this', button('Search', () => findReferrers(record, back), { kind: 'plain', icon: 'search', title: 'Asks each field that is a reference' })), back),
      h('footer', null, canWrite && button('Edit', edit, { kind: 'primary', icon: 'edit', 'data-key': 'e' }), canWrite && button('Duplicate', () => duplicate(record), { icon: 'copy', kind: 'named' }), h('span', { class: 'space' }), canWrite && button('Delete', async () => { if (await remove([record])) hooks.close() }, { icon: 'trash', kind: 'plain danger named' })))
  }

  /** @param {CloudRecord} record @param {Element} place */
  async function findReferrers(record, place) {
    fill(place, h('p', { class: 'note' }, 'Asking …'))
    const { found, unknown } = await referrers(record)
    /** @type {Map<string, import('./writes.js').Referrer[]>} */
    const groups = new Map()
    for (const referrer of found) groups.set(`${referrer.recordType}.${referrer.field}`, [...(groups.get(`${referrer.recordType}.${referrer.field}`) ?? []), referrer])
    fill(place, !found.length && h('p', { class: 'note' }, 'Nothing does.'),
      [...groups].map(([name, list]) => h('div', { class: 'field' }, h('div', { class: 'name' }, name, h('span', { class: 'badge' }, list.length >= 200 ? '200 or more' : String(list.length)), h('a', { href: addressOf({ section: 'records', item: list[0].recordType, filter: [`${list[0].field} == ${record.recordName}`] }) }, 'show all')),
        h('ul', { class: 'items' }, list.slice(0, 8).map(referrer => h('li', null, recordLink(referrer.record, referrer.recordType), h('span', { class: 'note' }, ` ${summary(Object.values(referrer.record.fields).find(field => field.type === 'STRING'), 60)}`)))))),
      unknown.length > 0 && h('p', { class: 'note' }, `Not searched, for want of a QUERYABLE index: ${unknown.join(', ')}.`))
  }

  async function edit() {
    const record = /** @type {CloudRecord} */ (current)
    isEditing = true
    const form = await recordForm(record.recordType, record.fields, {
      verb: 'Save', cancel: () => { isEditing = false; drawRecord(); element.querySelector('footer .primary')?.focus() },
      save: async fields => {
        if (!Object.keys(fields).length) { isEditing = false; drawRecord(); say('Nothing was changed.'); return }
        const saved = await update(record, fields)
        if (saved) { current = { ...record, ...saved }; showRecord(/** @type {CloudRecord} */ (current)) }
      },
    })
    fill(element, h('header', null, h('div', { class: 'titles' }, h('h1', null, record.recordName), h('span', { class: 'note' }, `Editing ${record.recordType}, tag ${record.recordChangeTag}`)), button('Close the record', hooks.close, { icon: 'close', quiet: true })), form)
    form.querySelector('textarea, input')?.focus()
  }

  /** @param {string} name @param {any} [zone] @param {boolean} [again] */
  async function load(name, zone, again = false) {
    if (current?.recordName !== name) fill(element, h('header', null, h('div', { class: 'titles' }, h('h1', null, name)), button('Close the record', hooks.close, { icon: 'close', quiet: true })), h('p', { class: 'waiting' }, 'Reading …'))
    try {
      const record = await find(name, zone)
      if (record.serverErrorCode) throw refusalOf(record, 'records/lookup')
      showRecord(record, again)
    } catch (error) {
      current = undefined
      fill(element, h('header', null, h('div', { class: 'titles' }, h('h1', null, name)), button('Close the record', hooks.close, { icon: 'close', quiet: true })), h('div', { class: 'panel-body' }, refusalView(error, { title: 'Not shown', retry: () => load(name, zone) })))
    }
  }

  return {
    element, load, edit,
    get record() { return current },
    get isEditing() { return isEditing },
    /** Another client saved the record. */
    noteChange() {
      if (!current) return
      if (!isEditing) { load(current.recordName, current.zoneID, true); return }
      if (element.querySelector('.changed-note')) return
      element.querySelector('.panel-body')?.prepend(h('p', { class: 'changed-note badge warn', role: 'status' }, 'Another client saved this record. Saving shows both versions.'))
    },
  }
}

/** @param {CloudRecord} record */
function showJSON(record) {
  const text = writeJSON(record, 2)
  openDialog(record.recordName, () => h('pre', { class: 'code', tabindex: 0 }, text), { kind: 'wide', actions: close => [copyButton(text), button('Close', () => close())] })
}

/**
 * The form of a record's fields.
 * @param {string} recordType @param {Record<string, any>} fields
 * @param {{ verb: string, save: (fields: Record<string, any>) => Promise<any>, cancel: () => void, isNew?: boolean, head?: any }} hooks
 */
async function recordForm(recordType, fields, hooks) {
  const known = await schema().catch(() => ({ types: [], roles: [] }))
  const type = known.types.find(type => type.name === recordType)
  /** @type {ReturnType<typeof fieldEditor>[]} */
  const editors = []
  const list = h('div')
  const add = (name, fieldType, field, isEncrypted = false) => {
    const editor = fieldEditor(name, fieldType, field, { isEncrypted })
    editors.push(editor)
    list.append(editor.element)
    return editor
  }
  const names = new Set()
  for (const field of [...ownFields(type)].sort((a, b) => a.name.localeCompare(b.name))) { names.add(field.name); add(field.name, protocolType(field.type), fields[field.name], field.type.startsWith('ENCRYPTED')) }
  for (const name of Object.keys(fields).sort()) if (!names.has(name)) add(name, fields[name].type ?? typeOf(fields[name].value), fields[name], fields[name].isEncrypted)
  const problem = h('div', { role: 'alert' })
  const form = h('form', {
    class: 'panel-form', novalidate: true, onsubmit: async event => {
      event.preventDefault()
      /** @type {Record<string, any>} */
      const changes = {}
      try {
        for (const editor of editors) {
          const field = editor.read(), before = fields[editor.name]?.value ?? null
          if (hooks.isNew ? field.value !== null && !(Array.isArray(field.value) && !field.value.length) : !areEqual(field.value, before)) changes[editor.name] = field
        }
      } catch { return }
      const submit = form.querySelector('[type=submit]')
      submit.disabled = true
      fill(problem)
      try { await hooks.save(changes) } catch (error) { if (error.name !== 'AbortError') fill(problem, refusalView(error, { type: recordType, title: 'Not saved' })); problem.scrollIntoView({ block: 'nearest' }) }
      submit.disabled = false
    },
    onkeydown: event => {
      if ((event.ctrlKey || event.metaKey) && (event.key === 's' || event.key === 'Enter')) { event.preventDefault(); form.requestSubmit() }
      if (event.key === 'Escape') { event.stopPropagation(); hooks.cancel() }
    },
  },
  h('div', { class: 'panel-body' }, hooks.head, list, button('Add a field', async event => {
    const added = await askForm('Add a field', [
      labelled('Name', h('input', { name: 'name', required: true, pattern: '[A-Za-z][A-Za-z0-9_]*', autocomplete: 'off', spellcheck: 'false' }), 'Letters, digits and underscores'),
      labelled('Type', h('select', { name: 'type' }, fieldTypes.map(name => h('option', { value: name }, name)))),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'encrypted' }), 'Encrypted'),
    ], 'Add', data => {
      if (editors.some(editor => editor.name === data.get('name'))) throw new Error('The record has a field of this name.')
      return { name: data.get('name'), type: data.get('type'), isEncrypted: data.has('encrypted') }
    })
    if (added) add(added.name, added.type, undefined, added.isEncrypted).element.querySelector('input, textarea')?.focus()
    else /** @type {any} */ (event.target).focus()
  }, { icon: 'plus', kind: 'plain named' }), problem),
  h('footer', null, h('button', { type: 'submit', class: 'button primary' }, h('span', null, hooks.verb)), button('Cancel', hooks.cancel, { kind: 'named' }), h('span', { class: 'space' }), h('span', { class: 'note' }, h('kbd', null, 'Ctrl'), ' ', h('kbd', null, 'S'))))
  return form
}

/**
 * Asks for a new record, with the values of another one if there is one.
 * @param {string} recordType @param {any[]} zones @param {CloudRecord} [template]
 */
export async function newRecord(recordType, zones, template) {
  const fields = Object.fromEntries(Object.entries(template?.fields ?? {}).filter(([, field]) => !/^ASSET/.test(field.type ?? '')))
  const known = await schema().catch(() => ({ types: [], roles: [] }))
  let type = recordType
  return openDialog(template ? `Duplicate of ${template.recordName}` : recordType ? `New ${recordType}` : 'New record', (close, dialog) => {
    const name = h('input', { 'aria-label': 'Record name', class: 'mono', placeholder: 'made by the page if empty', spellcheck: 'false', autocomplete: 'off' })
    const zone = h('select', { 'aria-label': 'Zone' }, zones.map((zone, index) => h('option', { value: String(index), selected: template?.zoneID ? zone.zoneName === template.zoneID.zoneName : zone.zoneName === view.zone }, zone.zoneName)))
    const typeInput = h('input', { 'aria-label': 'Record type', value: type, list: 'known-types', required: true, spellcheck: 'false', autocomplete: 'off', disabled: Boolean(recordType), onchange: () => { type = typeInput.value.trim(); draw() } })
    const place = h('div', { class: 'new-record' })
    const draw = async () => fill(place, await recordForm(type, fields, {
      verb: 'Create', isNew: true, cancel: () => close(undefined),
      save: async values => {
        if (!type) throw new Error('Name the record type.')
        close(await create({ recordType: type, recordName: name.value.trim(), fields: values }, zones[Number(zone.value)]))
      },
    }))
    draw().then(() => (recordType ? place.querySelector('textarea, input') : typeInput)?.focus())
    return h('div', { class: 'form' }, h('div', { class: 'form-row' }, !recordType && labelled('Record type', typeInput), labelled('Record name', name), zones.length > 1 && labelled('Zone', zone)),
      h('datalist', { id: 'known-types' }, known.types.map(type => h('option', { value: type.name }))), place)
  }, { kind: 'form' })
}

/** @param {CloudRecord} record */
async function duplicate(record) {
  const saved = await newRecord(record.recordType, [record.zoneID ?? { zoneName: '_defaultZone' }], record)
  if (saved) show({ record: saved.recordName })
}
