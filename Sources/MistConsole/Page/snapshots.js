// Earlier states of everything: taken, compared, restored, and given to a colleague as a file.

import { administration } from './administration.js'
import { askForFile, button, fill, h, icon, saveFile } from './dom.js'
import { ask, askForm, labelled, menuButton, openDialog, say, withProgress } from './dialogs.js'
import { whileShown } from './events.js'
import { refusalView } from './refusals.js'
import { changeList } from './schema.js'
import { session, userName } from './session.js'
import { ago, areEqual, count, localDate, size, summary } from './values.js'

export async function snapshotsSection() {
  const place = h('div', { class: 'section-body' })
  /** @type {{ name: string, timestamp: number, bytes: number, records: number }[]} */
  let snapshots = []
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Snapshots'), h('span', { class: 'space' }), session.canAdminister && [button('Load a file', load, { icon: 'upload', kind: 'named' }), button('Take a snapshot', take, { icon: 'plus', kind: 'primary' })]), place)

  async function take() {
    const name = `${new Date().toISOString().slice(0, 16).replace('T', '-').replace(':', '')}`
    const made = await askForm('Take a snapshot', labelled('Name', h('input', { name: 'name', required: true, value: name, pattern: '[A-Za-z0-9._\\-]+', autocomplete: 'off', spellcheck: 'false' }), 'Letters, digits, dots, dashes and underscores'), 'Take', data => administration.takeSnapshot(String(data.get('name'))))
    if (made) { say(`${made.name} has ${count(made.records)} records.`); await read() }
  }
  async function load() {
    const file = await askForFile('.sqlite,.mistkit-snapshot')
    if (!file) return
    const made = await askForm('Load a snapshot', labelled('Name', h('input', { name: 'name', required: true, value: file.name.replace(/\.[^.]*$/, '').replace(/[^A-Za-z0-9._-]/g, '-'), pattern: '[A-Za-z0-9._\\-]+' })), 'Load', data => administration.loadSnapshot(String(data.get('name')), file))
    if (made) await read()
  }
  async function restore(snapshot) {
    if (!await ask(`Restore ${snapshot.name}?`, [h('p', null, 'All records, schemas, users, files and subscriptions become those of the snapshot. What there is now is lost, unless a snapshot has it.'), h('p', { class: 'note' }, 'Change tokens of clients expire.')], 'Restore', { kind: 'danger' })) return
    try { await withProgress('Restoring', () => administration.restoreSnapshot(snapshot.name), { canStop: false }); say(`${snapshot.name} is restored.`) } catch (error) { openDialog('Not restored', () => refusalView(error)) }
  }

  async function compare(snapshot, other) {
    try {
      const found = await administration.compareSnapshots(snapshot.name, other)
      openDialog(`From ${snapshot.name} to ${other || 'now'}`, () => h('div', { class: 'prose' },
        h('p', null, h('span', { class: 'badge good' }, `${count(found.added)} added`), ' ', h('span', { class: 'badge warn' }, `${count(found.changed)} changed`), ' ', h('span', { class: 'badge bad' }, `${count(found.removed)} removed`)),
        found.schemas.filter(item => item.changes.length).map(item => [h('h3', null, `Schema of ${item.container}, ${item.environment}`), changeList(item.changes)]),
        found.records.length > 0 && h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' }, h('thead', null, h('tr', null, ['', 'Record', 'Where', 'What'].map(title => title ? h('th', { scope: 'col' }, title) : h('td')))),
          h('tbody', null, found.records.map(item => h('tr', null, h('td', null, h('span', { class: `badge ${({ added: 'good', changed: 'warn', removed: 'bad' })[item.kind]}` }, item.kind)), h('td', null, h('span', { class: 'mono' }, item.recordName), h('span', { class: 'note' }, ` ${item.recordType}`)), h('td', { class: 'note' }, [item.environment, item.database, item.zoneName, userName(item.ownerRecordName)].filter(Boolean).join(', ')), h('td', null, fieldChanges(item))))))),
        found.added + found.changed + found.removed > found.records.length && h('p', { class: 'note' }, `The first ${found.records.length} are listed.`)), { kind: 'wide' })
    } catch (error) { openDialog('Not compared', () => refusalView(error)) }
  }

  /** @param {any} item */
  function fieldChanges(item) {
    const fieldsOf = text => { const value = text ? JSON.parse(text) : {}; return value.fields ?? value }
    const before = fieldsOf(item.before), after = fieldsOf(item.after)
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(name => !areEqual(before[name]?.value ?? null, after[name]?.value ?? null))
    if (item.kind !== 'changed') return h('span', { class: 'note' }, names.slice(0, 4).map(name => `${name}: ${summary((item.kind === 'added' ? after : before)[name], 40)}`).join(' · '))
    return names.map(name => h('div', null, h('strong', null, name), ': ', h('s', { class: 'note' }, summary(before[name], 60) || 'no value'), ' → ', summary(after[name], 60) || 'no value'))
  }

  async function read() {
    snapshots = (await administration.snapshots()).sort((a, b) => b.timestamp - a.timestamp)
    draw()
  }
  function draw() {
    fill(place, !snapshots.length
      ? h('div', { class: 'empty' }, icon('snapshots'), h('h2', null, 'No snapshots'), h('p', null, 'A snapshot has everything: containers, users, schemas and files. Take one before a test, and restore it afterwards.'), session.canAdminister && button('Take a snapshot', take, { icon: 'plus', kind: 'primary named' }))
      : h('div', { class: 'card' }, h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' }, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Name'), h('th', { scope: 'col' }, 'Taken'), h('th', { scope: 'col', class: 'number' }, 'Records'), h('th', { scope: 'col', class: 'number' }, 'Size'), h('td'))),
        h('tbody', null, snapshots.map(snapshot => h('tr', null, h('td', { class: 'mono' }, snapshot.name), h('td', { class: 'note', title: localDate(snapshot.timestamp) }, ago(snapshot.timestamp)), h('td', { class: 'number' }, count(snapshot.records)), h('td', { class: 'number' }, size(snapshot.bytes)),
          h('td', { class: 'acts' }, menuButton('Compare', () => [{ text: 'What there is now', act: () => compare(snapshot) }, ...snapshots.filter(other => other !== snapshot).map(other => ({ text: other.name, note: ago(other.timestamp), act: () => compare(snapshot, other.name) }))], { icon: 'columns', kind: 'named', 'aria-label': `Compare ${snapshot.name}` }), ' ', session.canAdminister && button('Restore', () => restore(snapshot), { icon: 'undo', kind: 'named', 'aria-label': `Restore ${snapshot.name}` }), ' ', menuButton(`More about ${snapshot.name}`, () => [
            { text: 'Save as a file', icon: 'download', act: async () => saveFile(`${snapshot.name}.sqlite`, await withProgress('Exporting', () => administration.snapshotFile(snapshot.name), { canStop: false }) ?? new Blob()) },
            session.canAdminister && { text: 'Delete …', icon: 'trash', kind: 'danger', act: async () => { if (await ask(`Delete ${snapshot.name}?`, 'The data stay as they are.', 'Delete', { kind: 'danger' })) { await administration.deleteSnapshot(snapshot.name); await read() } } },
          ])))))))))
  }
  await read()
  whileShown('snapshots', element, read)
  return { element, commands: () => !session.canAdminister ? [] : [{ text: 'Take a snapshot', keys: 'n', act: take }, { text: 'Load a snapshot from a file', act: load }, ...snapshots.map(snapshot => ({ text: `Restore ${snapshot.name}`, icon: 'undo', act: () => restore(snapshot) }))] }
}
