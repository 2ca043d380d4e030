// Why not: what was refused, the rule that refused it, and the remedy as a button.

import { administer, administration } from './administration.js'
import { view, show } from './address.js'
import { button, fill, h, icon } from './dom.js'
import { forgetSchemas, schema, session, userName } from './session.js'
import { writeSchema } from './schema-text.js'
import { call } from './service.js'
import { say } from './dialogs.js'

/** @typedef {{ text: string, act: () => any, icon?: string, note?: string }} Remedy */

/** @param {string} name Of a field in the words of the service. */
const columnOf = name => ({ recordName: '___recordID', createdTimestamp: '___createTime', modifiedTimestamp: '___modTime', createdUserRecordName: '___createdBy', modifiedUserRecordName: '___modifiedBy', parent: '___parent', share: '___share' })[name] ?? name

/**
 * Changes the schema of development and says what changed.
 * @param {(schema: import('./schema-text.js').Schema) => void} edit
 */
export async function editSchema(edit) {
  const current = structuredClone(await schema(view.container, 'development'))
  edit(current)
  const { changes } = await administration.importSchema(view.container, 'development', writeSchema(current))
  forgetSchemas()
  say(changes.length ? changes.map(change => change.text).join('; ') : 'The schema was so already.')
}

/** @param {string} type @param {string} field @param {string} index */
export async function addIndex(type, field, index) {
  await editSchema(current => {
    const found = current.types.find(known => known.name === type)
    if (!found) throw new Error(`Development has no record type ${type}.`)
    const column = columnOf(field)
    let known = found.fields.find(known => known.name === column)
    if (!known) found.fields.unshift(known = { name: column, type: ['___createTime', '___modTime'].includes(column) ? 'TIMESTAMP' : 'REFERENCE', indexes: [] })
    if (!known.indexes.includes(index)) known.indexes.push(index)
  })
  if (view.environment === 'production') await deploy()
}

async function deploy() {
  await administration.deploySchema(view.container)
  forgetSchemas()
  say('Production has the schema of development.')
}

/**
 * The users to sign in as, the usual one first.
 * @param {number} count
 */
const usersToTry = count => [...session.users].sort((a, b) => Number(b.userRecordName === session.userRecordName) - Number(a.userRecordName === session.userRecordName)).slice(0, count)

/**
 * What can be done about a refusal.
 * @param {any} error @param {{ type?: string }} context
 * @returns {Remedy[]}
 */
function remediesOf(error, context) {
  const reason = String(error.reason ?? ''), code = error.code, type = context.type || view.item
  /** @type {Remedy[]} */
  const remedies = []
  const index = /Field '?([^' ]+)'? is not marked (queryable|sortable|searchable)/i.exec(reason)
  const canAdminister = session.administration && !session.readOnly
  if (index && canAdminister && type) remedies.push({ text: `Add a ${index[2].toUpperCase()} index to ${index[1]}`, icon: 'schema', act: () => addIndex(type, index[1], index[2].toUpperCase()) })
  if (/Queried type is not marked indexable/i.test(reason) && canAdminister && type) remedies.push({ text: 'Add a QUERYABLE index to recordName', icon: 'schema', act: () => addIndex(type, 'recordName', 'QUERYABLE') })
  if (view.environment === 'production' && canAdminister && (/production schema|record type|not found in/i.test(reason) || code === 'NOT_FOUND' && /type/i.test(reason))) remedies.push({ text: `Deploy the schema to production`, icon: 'upload', act: deploy })
  if (code === 'AUTHENTICATION_REQUIRED' || /signed? in|private|authoriz/i.test(reason) && code === 'AUTHENTICATION_FAILED') {
    for (const user of usersToTry(4)) remedies.push({ text: `Sign in as ${userName(user.userRecordName)}`, icon: 'person', act: () => show({ as: user.userRecordName === session.userRecordName ? '' : user.userRecordName }) })
  }
  const denied = /(CREATE|READ|WRITE) operation not permitted/i.exec(reason)
  if (code === 'ACCESS_DENIED' && denied && canAdminister && type && view.scope === 'public') {
    const permission = denied[1].toUpperCase()
    const role = view.as === 'nobody' ? '_world' : '_icloud'
    remedies.push({ text: `Grant ${permission} to ${role}`, icon: 'schema', note: 'in development', act: async () => {
      await editSchema(current => {
        const found = current.types.find(known => known.name === type)
        const grant = found?.grants.find(grant => grant.role === role)
        if (grant) grant.permissions.push(permission)
        else found?.grants.push({ role, permissions: [permission] })
      })
      if (view.environment === 'production') await deploy()
    } })
    const creator = error.item?.created?.userRecordName
    if (creator && creator !== view.as) remedies.push({ text: `Act as ${userName(creator)}, who made it`, icon: 'person', act: () => show({ as: creator }) })
    if (view.as === 'nobody') for (const user of usersToTry(3)) remedies.push({ text: `Sign in as ${userName(user.userRecordName)}`, icon: 'person', act: () => show({ as: user.userRecordName === session.userRecordName ? '' : user.userRecordName }) })
  }
  if (code === 'ZONE_NOT_FOUND' && view.scope === 'private' && view.zone && view.zone !== '*' && !session.readOnly) {
    remedies.push({ text: `Create the zone ${view.zone}`, icon: 'plus', act: () => call('zones/modify', { operations: [{ operationType: 'create', zone: { zoneID: { zoneName: view.zone } } }] }) })
    remedies.push({ text: 'Show all zones', icon: 'zones', act: () => show({ zone: '' }) })
  }
  return remedies
}

/**
 * What a code means, where the reason does not say what to do.
 * @type {Record<string, string>}
 */
const advice = {
  AUTHENTICATION_REQUIRED: 'This needs a user, and the page acts without one.',
  AUTHENTICATION_FAILED: 'The service rejected the credentials. Server keys see the public database alone.',
  THROTTLED: 'The service asks to wait before the next request.',
  TRY_AGAIN_LATER: 'The service is busy. The same request may work in a moment.',
  ZONE_NOT_FOUND: 'The zone does not exist, or this identity does not see it.',
  NETWORK_ERROR: '',
}

/**
 * A refusal with its rule and remedies, to stand where the answer would have been.
 * @param {any} error @param {{ type?: string, retry?: () => any, title?: string }} [context]
 */
export function refusalView(error, context = {}) {
  const isRecordName = /Field 'recordName' is not marked queryable/i.test(error.reason ?? '')
  const rules = h('div', { class: 'rules' })
  const problem = h('div', { class: 'problem-slot', role: 'alert' })
  const retryButton = context.retry && button(error.retryAfter ? `Try again (after ${error.retryAfter} s)` : 'Try again', () => context.retry?.(), { icon: 'refresh' })
  /** @param {Remedy[]} remedies */
  const buttons = remedies => remedies.map((remedy, position) => {
    const element = button(remedy.text, async () => {
      element.disabled = true
      try { await remedy.act(); context.retry?.() } catch (failure) { fill(problem, h('p', { class: 'problem-text' }, failure.message)) }
      element.disabled = false
    }, { icon: remedy.icon, kind: position ? 'named' : 'named primary' })
    return element
  })
  const remedies = h('div', { class: 'remedies' })
  const own = () => fill(remedies, buttons(remediesOf(error, context)), retryButton)
  if (error.request && session.administration) {
    // The log knows more than the answer: the rule and its evidence.
    explain(error, context).then(found => {
      if (!found) { own(); return }
      fill(rules, found.rules.map(rule => h('div', { class: 'rule' }, h('code', null, rule.id), h('p', null, rule.sentence), rule.evidence.map(line => h('p', { class: 'note' }, line)))))
      if (found.remedies.length) fill(remedies, buttons(found.remedies), retryButton)
      else own()
    }, own)
  } else own()
  return h('div', { class: 'refusal' },
    h('div', { class: 'refusal-head' }, icon('warning'), h('strong', null, context.title ?? (isRecordName ? 'Not empty, but not indexed' : 'Refused')), error.code && h('code', { class: 'code' }, error.code), error.status > 200 && h('span', { class: 'note' }, String(error.status))),
    h('p', { class: 'reason' }, error.reason ?? error.message),
    isRecordName ? h('p', { class: 'note' }, 'A query without conditions goes through the index of recordName. Without that index the service answers nothing at all, however many records there are.') : advice[error.code] && h('p', { class: 'note' }, advice[error.code]),
    rules, remedies, problem)
}

/**
 * What the emulator's log says of a refusal.
 * @param {any} error @param {{ type?: string }} context
 * @returns {Promise<{ rules: { id: string, sentence: string, evidence: string[] }[], remedies: Remedy[] } | undefined>}
 */
async function explain(error, context) {
  const { refusals } = await administration.request(error.request)
  const name = error.item?.recordName ?? error.item?.zoneID?.zoneName
  const found = refusals.find(refusal => refusal.item === name) ?? refusals[0]
  return found && { rules: found.rules, remedies: found.remedies.flatMap(remedy => remedyOf(remedy, error, context)) }
}

/**
 * A remedy of the log as a button.
 * @param {any} remedy @param {any} error @param {{ type?: string }} context @returns {Remedy[]}
 */
export function remedyOf(remedy, error, context) {
  if (remedy.kind === 'request' && !session.readOnly) return [{ text: remedy.title, icon: 'schema', act: async () => {
    const { method, path, body } = remedy.request
    await administer(method, path.replace(/^\/?_emulator\//, ''), body === undefined ? undefined : JSON.parse(body))
    forgetSchemas()
    say(`Done: ${remedy.title}.`)
  } }]
  if (remedy.kind === 'signIn' || remedy.kind === 'actAs') {
    const own = remediesOf({ ...error, code: 'AUTHENTICATION_REQUIRED', reason: '' }, context)
    return own.length ? own : [{ text: remedy.title, icon: 'person', act: () => document.querySelector('.acting-button')?.dispatchEvent(new MouseEvent('click')) }]
  }
  return []
}
