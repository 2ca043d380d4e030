// What stands behind the page: an emulator or a service, its users, its schemas, its counts, and who the page acts as.

import { administration } from './administration.js'
import { fallback, view, show } from './address.js'
import { events } from './events.js'
import { readSchema } from './schema-text.js'
import { call, defaults } from './service.js'

/**
 * @typedef {object} User
 * @property {string} userRecordName
 * @property {string} [givenName] @property {string} [familyName]
 * @property {string} [emailAddress] @property {string} [phoneNumber]
 * @property {boolean} discoverable
 */
/** @typedef {{ container: string, environment: string, database: string, ownerRecordName?: string, zoneName: string, recordType: string, records: number }} Count */

export const session = {
  /** `emulator` or `cloudKit`. */
  service: 'emulator',
  version: '', address: '', container: '', environment: 'development',
  /** Whether the administration of an emulator is there. */
  administration: false,
  /**
   * The environments in which writes are refused.
   * @type {string[]}
   */
  readOnlyEnvironments: [],
  /**
   * Whom the page can act as, beside the users.
   * @type {{ value: string, title: string, databases: string[] }[]}
   */
  identities: [],
  /** The user of requests that name no other one. */
  userRecordName: '',
  /** @type {User[]} */ users: [],
  /** @type {Count[]} */ counts: [],
  /** @type {string[]} */ containers: [],
  /** Whether what the page shows refuses writes. */
  get readOnly() { return this.readOnlyEnvironments.includes(view.environment) },
  /** Whether users, faults and snapshots can be changed. */
  get canAdminister() { return this.administration && !this.readOnlyEnvironments.includes('development') },
}

/** @type {(() => void)[]} */
const observers = []
/**
 * Calls back when users or counts changed.
 * @param {() => void} observe
 */
export const onSession = observe => void observers.push(observe)
function announce() {
  observers.forEach(observe => observe())
  events.dispatchEvent(new CustomEvent('session'))
}

export async function begin() {
  Object.assign(session, await administration.page())
  fallback.container = session.container
  defaults.identity = session.identities[0]?.value ?? 'user'
  if (!view.container) show({ container: session.container, environment: location.hash.includes('environment=') ? view.environment : session.environment, scope: location.hash.includes('scope=') ? view.scope : firstScope() }, true)
  await Promise.all([identify(), ...(session.administration ? [loadUsers(), loadCounts(), loadContainers()] : [])])
}

/** The database to show first: the private one, where the credentials reach it. */
const firstScope = () => session.identities[0]?.databases.includes('private') === false ? 'public' : 'private'

export async function loadUsers() {
  session.users = await administration.users()
  announce()
}

export async function loadCounts() {
  session.counts = await administration.counts()
  announce()
}

export async function loadContainers() {
  const known = (await administration.containers()).map(summary => summary.container)
  session.containers = [...new Set([session.container, view.container, ...known])].filter(Boolean).sort()
  announce()
}

/** Asks the service who the user of the default identity is. */
async function identify() {
  if (!session.containers.length) session.containers = [...new Set([session.container, view.container])].filter(Boolean)
  if (defaults.identity.startsWith('_')) session.userRecordName = defaults.identity
  else if (defaults.identity === 'user') try { session.userRecordName = (await call('users/caller', undefined, { scope: 'public', as: defaults.identity })).userRecordName ?? '' } catch { /* A server key is no user. */ }
  announce()
}

/** The user record name that requests of the view have; empty for nobody and the server key. */
export const actingUser = (as = view.as || defaults.identity) => as.startsWith('_') ? as : as === 'user' ? session.userRecordName : ''

/**
 * A user as people call one.
 * @param {string | undefined} name @returns {string}
 */
export function userName(name) {
  if (!name) return ''
  const user = session.users.find(user => user.userRecordName === name)
  const full = [user?.givenName, user?.familyName].filter(Boolean).join(' ')
  return full || user?.emailAddress || (name.length > 14 ? `${name.slice(0, 9)}…` : name)
}

/** @param {string} as */
export function identityName(as) {
  const value = as || defaults.identity
  const user = actingUser(value)
  const known = session.identities.find(identity => identity.value === value)
  return session.users.some(other => other.userRecordName === user) ? userName(user) : known?.title ?? userName(value)
}

/** @type {Map<string, Promise<import('./schema-text.js').Schema>>} */
const schemas = new Map()

/**
 * The schema of an environment. Without an administration it is what records have shown so far.
 * @param {string} [container] @param {string} [environment]
 */
export function schema(container = view.container, environment = view.environment) {
  const key = `${container}\n${environment}`
  let found = schemas.get(key)
  if (!found) {
    found = session.administration ? administration.schema(container, environment).then(readSchema) : Promise.resolve(remembered(key))
    found.catch(() => schemas.delete(key))
    schemas.set(key, found)
  }
  return found
}
export function forgetSchemas() { schemas.clear() }

/**
 * What earlier visits saw of a container without an administration.
 * @param {string} key @returns {import('./schema-text.js').Schema}
 */
function remembered(key) {
  try { return JSON.parse(localStorage.getItem(`schema ${key}`) ?? '') } catch { return { types: [], roles: [] } }
}

const names = { ASSETID: 'ASSET' }
/**
 * Learns types and fields from records, where no administration tells them.
 * @param {import('./service.js').CloudRecord[]} records
 */
export async function learn(records) {
  if (session.administration || !records.length) return false
  const known = await schema()
  let isNew = false
  for (const record of records) {
    if (!record.recordType || record.recordType.startsWith('cloudkit.')) continue
    let type = known.types.find(type => type.name === record.recordType)
    if (!type) { type = { name: record.recordType, fields: [], grants: [] }; known.types.push(type); isNew = true }
    for (const name in record.fields ?? {}) {
      const field = record.fields[name]
      if (!field.type || type.fields.some(known => known.name === name)) continue
      const element = field.type.replace(/_LIST$/, ''), plain = names[element] ?? element
      type.fields.push({ name, type: (field.isEncrypted ? 'ENCRYPTED ' : '') + (field.type.endsWith('_LIST') ? `LIST<${plain}>` : plain), indexes: ['QUERYABLE', 'SORTABLE', 'SEARCHABLE'] })
      isNew = true
    }
  }
  if (isNew) {
    known.types.sort((a, b) => a.name.localeCompare(b.name))
    localStorage.setItem(`schema ${view.container}\n${view.environment}`, JSON.stringify(known))
    announce()
  }
  return isNew
}

/** The counts of what the view shows, all types. */
export function countsOfView() {
  const owner = actingUser()
  return session.counts.filter(count =>
    count.container === view.container && count.environment === view.environment && count.database === view.scope
    && (view.scope === 'public' || (count.ownerRecordName === owner && (!view.zone || view.zone === '*' || count.zoneName === view.zone))))
}

/**
 * The number of records of a type; `undefined` where it is not known.
 * @param {string} type
 */
export function countOf(type) {
  if (!session.administration || view.scope === 'shared') return undefined
  return countsOfView().filter(count => count.recordType === type).reduce((sum, count) => sum + count.records, 0)
}
