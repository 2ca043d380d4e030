// Records out of the page and into it: NDJSON as `mistkit records export` writes it, and CSV with types in its header.

import { button, h } from './dom.js'
import { openDialog, say, withProgress } from './dialogs.js'
import { view } from './address.js'
import { modify, pages, readJSON, refusalOf, writeJSON } from './service.js'
import { readElement, elementType, isList, typeOf, writeElement } from './values.js'
import { announceWrite } from './writes.js'
import { askForFile, saveFile } from './dom.js'

/** @param {string} text */
const cell = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** @param {import('./service.js').Field} field */
function plain(field) {
  const type = field.type ?? typeOf(field.value)
  if (field.value === null || field.value === undefined) return ''
  return isList(type) ? field.value.map(item => writeElement(item, elementType(type))).join(',') : writeElement(field.value, type)
}

/**
 * Exports what a query finds.
 * @param {any} query @param {'ndjson' | 'csv'} format @param {number} [total]
 */
export async function exportRecords(query, format, total) {
  /** @type {import('./service.js').CloudRecord[]} */
  const records = []
  const done = await withProgress('Exporting', async (report, signal) => {
    for await (const page of pages(query, { target: { signal } })) { records.push(...page.filter(record => !record.serverErrorCode)); report(records.length, total) }
    return true
  })
  if (!done) return
  const name = `${query.recordType}.${format}`
  if (format === 'ndjson') saveFile(name, records.map(record => writeJSON({ recordName: record.recordName, recordType: record.recordType, fields: record.fields, ...(record.zoneID ? { zoneID: record.zoneID } : {}) }) + '\n'), 'application/x-ndjson')
  else {
    /** @type {Map<string, string>} */
    const columns = new Map()
    for (const record of records) for (const key in record.fields) if (record.fields[key].type) columns.set(key, record.fields[key].type ?? '')
    const names = [...columns.keys()].sort()
    const lines = [['recordName', ...names.map(key => `${key}:${columns.get(key)}`)].map(cell).join(',')]
    for (const record of records) lines.push([record.recordName, ...names.map(key => record.fields[key] ? plain(record.fields[key]) : '')].map(cell).join(','))
    saveFile(name, [lines.join('\r\n') + '\r\n'], 'text/csv')
  }
  say(`${records.length.toLocaleString()} records are in ${name}.`)
}

/** @param {string} text @returns {string[][]} */
export function readCSV(text) {
  /** @type {string[][]} */
  const rows = []
  let row = [], value = '', isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isQuoted) {
      if (character !== '"') value += character
      else if (text[at + 1] === '"') { value += '"'; at++ }
      else isQuoted = false
    } else if (character === '"' && value === '') isQuoted = true
    else if (character === ',') { row.push(value); value = '' }
    else if (character === '\n' || character === '\r') {
      if (character === '\r' && text[at + 1] === '\n') at++
      row.push(value); value = ''
      if (row.length > 1 || row[0] !== '') rows.push(row)
      row = []
    } else value += character
  }
  if (value !== '' || row.length) { row.push(value); rows.push(row) }
  return rows
}

/**
 * The records of a file, each with the line that it is on.
 * @param {string} text @param {string} name @param {string} recordType
 */
export function readRecords(text, name, recordType) {
  /** @type {{ line: number, record?: any, problem?: string }[]} */
  const items = []
  if (/\.csv$/i.test(name)) {
    const [head = [], ...rows] = readCSV(text.replace(/^\ufeff/, ''))
    const columns = head.map(title => { const [field, type] = title.split(':'); return { field, type: type?.toUpperCase() ?? 'STRING' } })
    rows.forEach((row, index) => {
      try {
        /** @type {any} */
        const record = { recordType, fields: {} }
        row.forEach((value, position) => {
          const column = columns[position]
          if (!column) throw new Error('The line has more cells than the header.')
          if (column.field === 'recordName') { record.recordName = value || undefined; return }
          if (value === '') return
          record.fields[column.field] = { value: isList(column.type) ? value.split(',').map(item => readElement(item, elementType(column.type))) : readElement(value, column.type), type: column.type }
        })
        items.push({ line: index + 2, record })
      } catch (error) { items.push({ line: index + 2, problem: error.message }) }
    })
    return items
  }
  text.split('\n').forEach((line, index) => {
    if (!line.trim()) return
    try {
      const value = readJSON(line)
      if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('The line is not an object.')
      const record = value.fields && typeof value.fields === 'object' ? value : { fields: Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'recordName' && key !== 'recordType').map(([key, item]) => [key, { value: item }])), recordName: value.recordName, recordType: value.recordType }
      items.push({ line: index + 1, record: { recordName: record.recordName, recordType: record.recordType ?? recordType, fields: record.fields, zone: record.zoneID?.zoneName } })
    } catch (error) { items.push({ line: index + 1, problem: error.message }) }
  })
  return items
}

/**
 * Imports a file that is asked for.
 * @param {string} recordType @param {any[]} zones @param {File} [dropped]
 */
export async function importRecords(recordType, zones, dropped) {
  const file = dropped ?? await askForFile('.ndjson,.jsonl,.csv,.json')
  if (!file) return
  const items = readRecords(await file.text(), file.name, recordType)
  const good = items.filter(item => item.record), bad = items.filter(item => item.problem)
  const choice = await openDialog(`Import ${file.name}`, () => h('form', { class: 'form', id: 'import-form' },
    h('p', null, `${good.length} records can be read${bad.length ? `, ${bad.length} lines cannot:` : '.'}`),
    bad.length > 0 && h('ul', { class: 'note' }, bad.slice(0, 6).map(item => h('li', null, `Line ${item.line}: ${item.problem}`))),
    h('label', { class: 'labelled' }, h('span', { class: 'label' }, 'Zone'), h('select', { name: 'zone' }, zones.map((zone, index) => h('option', { value: index, selected: zone.zoneName === view.zone }, zone.zoneName)))),
    h('label', { class: 'labelled' }, h('span', { class: 'label' }, 'A record whose name exists'), h('select', { name: 'operation' }, h('option', { value: 'create' }, 'fails, and stays as it is'), h('option', { value: 'forceUpdate' }, 'takes the fields of the file'), h('option', { value: 'forceReplace' }, 'is replaced')))), {
    actions: close => [button('Cancel', () => close(undefined)), button(`Import ${good.length} records`, () => { const data = new FormData(/** @type {any} */ (document.getElementById('import-form'))); close({ zone: zones[Number(data.get('zone'))], operation: String(data.get('operation')) }) }, { kind: 'primary', disabled: !good.length })],
  })
  if (!choice) return
  const saved = [], failed = []
  await withProgress('Importing', async (report, signal) => {
    for (let start = 0; start < good.length; start += 200) {
      signal.throwIfAborted()
      const batch = good.slice(start, start + 200)
      const reply = await modify(batch.map(({ record: { zone, ...record } }) => ({ operationType: choice.operation, record })), choice.zone, { atomic: choice.zone.zoneName === '_defaultZone' ? undefined : false })
      reply.forEach((item, index) => item.serverErrorCode ? failed.push({ line: batch[index].line, error: refusalOf(item, 'records/modify') }) : saved.push({ ...item, zoneID: item.zoneID ?? choice.zone }))
      report(start + batch.length, good.length)
    }
  })
  announceWrite(saved)
  if (failed.length) openDialog(`${saved.length} records imported, ${failed.length} refused`, () => h('ul', null, failed.slice(0, 50).map(({ line, error }) => h('li', null, `Line ${line}: `, h('code', null, error.code), ` ${error.reason}`))))
  else say(`${saved.length} records are imported.`)
}

