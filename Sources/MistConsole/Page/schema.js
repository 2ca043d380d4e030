// The schemas of both environments side by side. Development is edited as a draft, which is one import.

import { administration } from './administration.js'
import { addressOf, show, view } from './address.js'
import { askForFile, button, copyButton, fill, h, icon, saveFile } from './dom.js'
import { ask, askForm, labelled, menuButton, openDialog, say } from './dialogs.js'
import { whileShown } from './events.js'
import { refusalView } from './refusals.js'
import { countOf, forgetSchemas, loadCounts, schema, session } from './session.js'
import { ownFields, systemColumns, writeSchema } from './schema-text.js'
import { count } from './values.js'

const plainTypes = ['STRING', 'INT64', 'DOUBLE', 'TIMESTAMP', 'BYTES', 'REFERENCE', 'LOCATION', 'ASSET']
const types = [...plainTypes, ...plainTypes.map(type => `LIST<${type}>`), ...plainTypes.filter(type => type !== 'REFERENCE' && type !== 'ASSET').map(type => `ENCRYPTED ${type}`)]

/**
 * The indexes that a field of a type can have.
 * @param {string} type
 */
function indexesFor(type) {
  if (type.startsWith('ENCRYPTED') || /ASSET/.test(type)) return []
  if (type.startsWith('LIST')) return type === 'LIST<STRING>' ? ['QUERYABLE', 'SEARCHABLE'] : ['QUERYABLE']
  return type === 'STRING' ? ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'] : ['QUERYABLE', 'SORTABLE']
}

/**
 * The changes of a schema as a list.
 * @param {{ text: string, refusal?: string }[]} changes
 */
export const changeList = changes => h('ul', { class: 'changes' }, changes.map(change => h('li', { class: `mono ${change.refusal ? 'refused' : ({ '+': 'added', '-': 'removed', '~': 'edited' })[change.text[0]] ?? ''}` }, change.text)))

export async function schemaSection() {
  const body = h('div', { class: 'schema' }), draftBar = h('div', { class: 'selection-bar', hidden: true, role: 'status' })
  const element = h('section', { class: 'section full' })
  /** @type {import('./schema-text.js').Schema} */
  let development = { types: [], roles: [] }, production = development, draft = development
  const isDirty = () => writeSchema(draft) !== writeSchema(development)
  const canEdit = () => !session.readOnlyEnvironments.includes('development')

  async function read() {
    forgetSchemas()
    ;[development, production] = await Promise.all([schema(view.container, 'development'), schema(view.container, 'production')])
    draft = structuredClone(development)
    draw()
  }

  /** @param {(schema: import('./schema-text.js').Schema) => void} edit */
  function change(edit) { edit(draft); draw() }

  function drawHead() {
    fill(element,
      h('div', { class: 'section-head' }, h('h1', null, 'Schema'), h('span', { class: 'badge' }, `${draft.types.length} types`), h('span', { class: 'space' }),
        button('Compare and deploy', compare, { icon: 'upload', kind: 'named' }),
        button('Swift', showSwift, { icon: 'code', title: 'Record types in Swift' }),
        menuButton('More', () => [
          { text: 'Export development', icon: 'download', act: async () => saveFile('development.ckdb', [await administration.schema(view.container, 'development')]) },
          { text: 'Export production', icon: 'download', act: async () => saveFile('production.ckdb', [await administration.schema(view.container, 'production')]) },
          canEdit() && { text: 'Import a file …', icon: 'upload', act: async () => { const file = await askForFile('.ckdb,.txt'); if (file) importText(await file.text()) } },
          canEdit() && { text: 'Edit as text …', icon: 'edit', act: editText },
          canEdit() && 'line',
          canEdit() && { text: 'Reset development …', icon: 'trash', kind: 'danger', act: reset },
        ]),
        canEdit() && button('New type', addType, { icon: 'plus', kind: 'primary' })),
      draftBar, body)
  }

  function draw() {
    draftBar.hidden = !isDirty()
    fill(draftBar, h('strong', null, 'The draft differs from development.'), button('Review and apply', () => importText(writeSchema(draft)), { kind: 'primary' }), button('Discard', () => { draft = structuredClone(development); draw() }, { kind: 'named' }))
    const names = [...new Set([...draft.types, ...production.types].map(type => type.name))].sort()
    if (!names.length) { fill(body, h('div', { class: 'empty' }, icon('schema'), h('h2', null, 'No record types yet'), h('p', null, 'Make one, import a schema file, or save a record.'))); return }
    const chosen = names.includes(view.item) ? view.item : names[0]
    fill(body,
      h('nav', { class: 'type-list', 'aria-label': 'Record types' }, h('ul', { class: 'sections' }, names.map(name => {
        const here = draft.types.find(type => type.name === name), there = production.types.find(type => type.name === name)
        const state = !there ? 'new' : !here ? 'production only' : JSON.stringify(sorted(here)) === JSON.stringify(sorted(there)) ? '' : 'differs'
        return h('li', null, h('a', { href: addressOf({ section: 'schema', item: name }), 'aria-current': name === chosen ? 'page' : undefined }, h('span', { class: 'name' }, name), h('span', { class: 'space' }), state && h('span', { class: 'badge' }, state)))
      }))),
      typeView(chosen))
  }

  /** @param {import('./schema-text.js').SchemaType} type */
  const sorted = type => ({ fields: type.fields.map(field => `${field.name} ${field.type} ${[...field.indexes].sort()}`).sort(), grants: type.grants.map(grant => `${grant.role} ${[...grant.permissions].sort()}`).sort() })

  /** @param {string} name */
  function typeView(name) {
    const here = draft.types.find(type => type.name === name), there = production.types.find(type => type.name === name)
    const fieldNames = [...new Set([...ownFields(here), ...ownFields(there)].map(field => field.name))].sort((a, b) => a.localeCompare(b))
    const systemNames = Object.keys(systemColumns).filter(column => [here, there].some(type => type?.fields.some(field => field.name === column)) || column !== '___etag')
    const editable = canEdit() && Boolean(here)
    const indexCells = (field, type, side, isEditable, column) => ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'].map(index => {
      const can = type ? indexesFor(type).includes(index) : false, has = field?.indexes.includes(index) ?? false
      if (!can && !has) return h('td', { class: 'check-cell' })
      return h('td', { class: 'check-cell' }, side === 'development' && isEditable
        ? h('input', { type: 'checkbox', checked: has, 'aria-label': `${index} index of ${column}`, onchange: event => change(() => setIndex(name, column, type, index, event.target.checked)) })
        : has ? h('span', { class: 'has', title: index }, icon('check'), h('span', { class: 'visually-hidden' }, index)) : null)
    })
    const row = (column, label) => {
      const field = here?.fields.find(field => field.name === column), other = there?.fields.find(field => field.name === column)
      const type = field?.type ?? (label ? column === '___etag' ? 'STRING' : /Time$/.test(column) ? 'TIMESTAMP' : 'REFERENCE' : other?.type ?? '')
      return h('tr', null, h('th', { scope: 'row', class: 'mono' }, label ?? column), h('td', { class: 'mono note' }, field || label ? type : h('span', { class: 'badge warn' }, 'not in development')), indexCells(field, type, 'development', editable && (Boolean(field) || Boolean(label)), column),
        h('td', { class: 'mono note apart' }, other ? other.type !== type && !label ? h('span', { class: 'badge bad' }, other.type) : other.type : h('span', { class: 'note' }, there && !label ? 'not there' : '')), indexCells(other, other?.type, 'production', false, column),
        h('td', { class: 'acts' }, !label && field && editable && button(`Drop ${column}`, () => change(() => { if (here) here.fields = here.fields.filter(field => field.name !== column) }), { icon: 'trash', quiet: true })))
    }
    const roles = [...new Set(['_world', '_icloud', '_creator', ...draft.roles, ...production.roles, ...(here?.grants ?? []).map(grant => grant.role)])]
    const grantCells = (type, role, isEditable) => ['READ', 'CREATE', 'WRITE'].map(permission => {
      const has = type?.grants.some(grant => grant.role === role && grant.permissions.includes(permission)) ?? false
      return h('td', { class: 'check-cell' }, isEditable ? h('input', { type: 'checkbox', checked: has, 'aria-label': `${permission} to ${role}`, onchange: event => change(() => setGrant(name, role, permission, event.target.checked)) }) : has ? h('span', { class: 'has' }, icon('check'), h('span', { class: 'visually-hidden' }, permission)) : null)
    })
    const indexHeads = () => ['Q', 'S', 'T'].map((letter, at) => h('th', { scope: 'col', class: 'check-cell', title: ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'][at] }, h('abbr', { title: ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'][at] }, letter)))
    return h('div', { class: 'section-body type-view' },
      h('div', { class: 'card' }, h('header', null, h('h2', null, name), countOf(name) ? h('a', { href: addressOf({ section: 'records', item: name }) }, `${count(countOf(name) ?? 0)} records`) : null, h('span', { class: 'space' }), editable && button('Add a field', () => addField(name), { icon: 'plus', kind: 'named' }), editable && button('Drop the type', () => change(draft => { draft.types = draft.types.filter(type => type.name !== name) }), { icon: 'trash', quiet: true })),
        h('div', { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': 'Fields' }, h('table', { class: 'plain-table schema-table' },
          h('thead', null,
            h('tr', null, h('td'), h('th', { colspan: 4, scope: 'colgroup' }, 'Development'), h('th', { colspan: 4, scope: 'colgroup', class: 'apart' }, there ? 'Production' : 'Production does not have it'), h('td')),
            h('tr', null, h('th', { scope: 'col' }, 'Field'), h('th', { scope: 'col' }, 'Type'), indexHeads(), h('th', { scope: 'col', class: 'apart' }, 'Type'), indexHeads(), h('td'))),
          h('tbody', null, fieldNames.map(name => row(name)), h('tr', { class: 'group-row' }, h('th', { colspan: 10, scope: 'rowgroup' }, 'System fields')), systemNames.map(column => row(column, systemColumns[column].replace('@', '') || '___etag')))))),
      h('div', { class: 'card' }, h('header', null, h('h2', null, 'Who may do what in the public database'), h('span', { class: 'space' }), editable && button('New role', addRole, { icon: 'plus', kind: 'named' })), h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table schema-table' },
        h('thead', null, h('tr', null, h('td'), h('th', { colspan: 3, scope: 'colgroup' }, 'Development'), h('th', { colspan: 3, scope: 'colgroup', class: 'apart' }, 'Production')), h('tr', null, h('th', { scope: 'col' }, 'Role'), [0, 1].map(side => ['READ', 'CREATE', 'WRITE'].map((text, at) => h('th', { scope: 'col', class: `check-cell ${side && !at ? 'apart' : ''}` }, text))))),
        h('tbody', null, roles.map(role => h('tr', null, h('th', { scope: 'row', class: 'mono' }, role, h('span', { class: 'note' }, ({ _world: '  everyone', _icloud: '  signed in', _creator: '  who made it' })[role] ?? '')), grantCells(here, role, editable), grantCells(there, role, false))))))))
  }

  function setIndex(typeName, column, fieldType, index, on) {
    const type = draft.types.find(type => type.name === typeName)
    let field = type?.fields.find(field => field.name === column)
    if (!field) { field = { name: column, type: fieldType, indexes: [] }; type?.fields.unshift(field) }
    const before = field.indexes
    field.indexes = ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'].filter(name => name === index ? on : before.includes(name))
    // A system field stands in a schema for its indexes alone.
    if (!field.indexes.length && column.startsWith('___') && type) type.fields = type.fields.filter(other => other !== field)
  }
  function setGrant(typeName, role, permission, on) {
    const type = draft.types.find(type => type.name === typeName)
    let grant = type?.grants.find(grant => grant.role === role)
    if (!grant) { grant = { role, permissions: [] }; type?.grants.push(grant) }
    const before = grant.permissions
    grant.permissions = ['READ', 'CREATE', 'WRITE'].filter(name => name === permission ? on : before.includes(name))
    if (!grant.permissions.length && type) type.grants = type.grants.filter(other => other !== grant)
  }

  const nameInput = () => h('input', { name: 'name', required: true, pattern: '[A-Za-z][A-Za-z0-9_]*', autocomplete: 'off', spellcheck: 'false' })
  async function addType() {
    const name = await askForm('New record type', [labelled('Name', nameInput(), 'Letters, digits and underscores')], 'Add to the draft', data => {
      if (draft.types.some(type => type.name === data.get('name'))) throw new Error('There is a type of this name.')
      return data.get('name')
    })
    if (!name) return
    change(draft => draft.types.push({ name, fields: [{ name: '___recordID', type: 'REFERENCE', indexes: ['QUERYABLE'] }], grants: [{ role: '_creator', permissions: ['WRITE'] }, { role: '_icloud', permissions: ['CREATE'] }, { role: '_world', permissions: ['READ'] }] }))
    show({ item: name })
  }
  async function addField(typeName) {
    await askForm(`New field of ${typeName}`, [labelled('Name', nameInput()), labelled('Type', h('select', { name: 'type' }, types.map(type => h('option', { value: type }, type)))), h('fieldset', { class: 'checks' }, h('legend', { class: 'label' }, 'Indexes'), ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'].map(index => h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'index', value: index }), index)))], 'Add to the draft', data => {
      const type = draft.types.find(type => type.name === typeName), name = String(data.get('name')), fieldType = String(data.get('type'))
      if (type?.fields.some(field => field.name === name)) throw new Error('There is a field of this name.')
      const wrong = data.getAll('index').filter(index => !indexesFor(fieldType).includes(String(index)))
      if (wrong.length) throw new Error(`${fieldType} cannot be ${wrong.join(' or ')}.`)
      change(() => type?.fields.push({ name, type: fieldType, indexes: data.getAll('index').map(String) }))
    })
  }
  async function addRole() {
    const name = await askForm('New role', labelled('Name', nameInput()), 'Add to the draft', data => data.get('name'))
    if (name) change(draft => draft.roles.push(name))
  }

  /**
   * Shows what a text would change, and imports it.
   * @param {string} text
   */
  async function importText(text) {
    let validation
    try { validation = await administration.validateSchema(view.container, 'development', text) } catch (error) { openDialog('The schema cannot be read', () => refusalView(error)); return }
    const sure = await openDialog('What changes in development', () => h('div', { class: 'prose' },
      validation.changes.length ? changeList(validation.changes) : h('p', null, 'Nothing: development has this schema.'),
      validation.obstacle && h('p', { class: 'problem-text' }, validation.obstacle),
      validation.changes.some(change => change.refusal) && h('p', { class: 'note' }, 'Changes with ! are those that production refuses later.')), {
      actions: close => [button('Cancel', () => close(false)), button('Import', () => close(true), { kind: 'primary', disabled: Boolean(validation.obstacle) || !validation.changes.length })],
    })
    if (!sure) return
    try { await administration.importSchema(view.container, 'development', text); say('Development has the schema.'); await read() } catch (error) { openDialog('Not imported', () => refusalView(error)) }
  }

  async function editText() {
    const text = await administration.schema(view.container, 'development')
    const edited = await openDialog('Development as text', close => {
      const area = h('textarea', { class: 'mono', rows: 22, spellcheck: 'false', 'aria-label': 'Schema', value: isDirty() ? writeSchema(draft) : text })
      return h('div', { class: 'form' }, area, h('div', { class: 'form-actions' }, h('span', { class: 'space' }), button('Cancel', () => close(undefined)), button('Review and apply', () => close(area.value), { kind: 'primary' })))
    }, { kind: 'wide form' })
    if (edited !== undefined) importText(edited)
  }

  /** What a deployment would change and what production would refuse. */
  async function compare() {
    const text = await administration.schema(view.container, 'development')
    const validation = await administration.validateSchema(view.container, 'production', text)
    const refused = validation.changes.filter(change => change.refusal)
    const sure = await openDialog('From development to production', () => h('div', { class: 'prose' },
      isDirty() && h('p', { class: 'badge warn' }, 'The draft is not part of it; apply it first.'),
      validation.changes.length ? changeList(validation.changes) : h('p', null, 'Both environments have the same schema.'),
      refused.length > 0 && [h('p', null, h('strong', null, 'Production refuses:')), h('ul', null, refused.map(change => h('li', null, `${change.text}: ${change.refusal}`)))],
      validation.obstacle && h('p', { class: 'problem-text' }, validation.obstacle)), {
      kind: 'wide', actions: close => [button('Close', () => close(false)), button('Deploy', () => close(true), { kind: 'primary', icon: 'upload', disabled: !validation.changes.length || Boolean(validation.obstacle) || refused.length > 0 || session.readOnlyEnvironments.includes('production') })],
    })
    if (!sure) return
    try { const { changes } = await administration.deploySchema(view.container); say(`Production has ${changes.length} changes.`); await read() } catch (error) { openDialog('Not deployed', () => refusalView(error)) }
  }

  async function showSwift() {
    try {
      const text = await administration.swift(view.container, view.environment)
      openDialog('Record types in Swift', () => h('pre', { class: 'code', tabindex: 0 }, text), { kind: 'wide', actions: close => [copyButton(text), button('Save', () => saveFile('Records.swift', [text]), { icon: 'download' }), button('Close', () => close())] })
    } catch (error) { openDialog('No Swift', () => refusalView(error)) }
  }

  async function reset() {
    const confirmation = `delete development of ${view.container}`
    const sure = await ask('Reset development?', [h('p', null, 'Development gets the schema of production, and ', h('strong', null, 'all records of development'), ' of all users are deleted.'), h('p', { class: 'note' }, 'A snapshot made before can be restored.')], 'Delete the records', { kind: 'danger' })
    if (!sure) return
    try { await administration.resetSchema(view.container, confirmation); await loadCounts(); await read(); say('Development is as production.') } catch (error) { openDialog('Not reset', () => refusalView(error)) }
  }

  await read()
  drawHead()
  whileShown('schema', element, () => { if (!isDirty()) read() })
  return {
    element,
    update: (now, old) => { if (now.section !== old.section || now.container !== old.container) return false; draw(); return true },
    commands: () => [{ text: 'New record type', keys: 'n', act: addType }, { text: 'Compare and deploy', act: compare }, { text: 'Record types in Swift', act: showSwift }, { text: 'Edit the schema as text', act: editText }],
  }
}

