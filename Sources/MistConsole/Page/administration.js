// The administration of the emulator, as OpenAPI/emulator.yaml describes it. A real service has none of it.

import { Refusal, readJSON } from './service.js'

/**
 * @param {string} method @param {string} path Behind `/_emulator/`. @param {any} [body] @param {string} [type]
 * @returns {Promise<any>}
 */
export async function administer(method, path, body, type = 'application/json') {
  let response
  try {
    response = await fetch(`/_emulator/${path}`, { method, headers: body === undefined ? {} : { 'Content-Type': type }, body: body === undefined ? undefined : type === 'application/json' ? JSON.stringify(body) : body })
  } catch {
    throw new Refusal({ code: 'NETWORK_ERROR', reason: 'The emulator does not answer. Is it still running?', endpoint: path })
  }
  const isJSON = response.headers.get('Content-Type')?.includes('json')
  if (!response.ok) {
    const problem = isJSON ? await response.json() : { message: await response.text() }
    // The emulator has started again meanwhile, or the sessions were ended.
    if (problem.code === 'unauthorized') document.dispatchEvent(new Event('locked'))
    const where = problem.line ? ` (line ${problem.line}, column ${problem.column})` : ''
    throw new Refusal({ status: response.status, code: problem.code, reason: problem.message + where, endpoint: path })
  }
  if (response.status === 204) return undefined
  if (isJSON) return readJSON(await response.text())
  return response.headers.get('Content-Type')?.startsWith('text/') ? response.text() : response.blob()
}

const part = encodeURIComponent
/** @param {string} container @param {string} environment */
const environmentPath = (container, environment) => `containers/${part(container)}/${part(environment)}`
/** @param {string} container @param {string} environment */
const schemaPath = (container, environment) => `${environmentPath(container, environment)}/schema`

export const administration = {
  page: () => administer('GET', 'page'),
  session: () => administer('GET', 'page/session'),
  openSession: password => administer('POST', 'page/session', { password }),
  closeSession: () => administer('DELETE', 'page/session'),
  start: () => administer('GET', 'start'),
  containers: async () => (await administer('GET', 'containers')).containers,
  counts: async () => (await administer('GET', 'counts')).counts,
  users: async () => (await administer('GET', 'users')).users,
  createUser: user => administer('POST', 'users', user),
  signIn: name => administer('POST', `users/${part(name)}/sessions`),
  schema: (container, environment) => administer('GET', schemaPath(container, environment)),
  importSchema: (container, environment, text) => administer('PUT', schemaPath(container, environment), text, 'text/plain'),
  validateSchema: (container, environment, text) => administer('POST', `${schemaPath(container, environment)}/validation`, text, 'text/plain'),
  swift: (container, environment) => administer('GET', `${schemaPath(container, environment)}/swift`),
  deploySchema: container => administer('POST', `containers/${part(container)}/schema/deployment`),
  resetSchema: (container, confirmation) => administer('POST', `containers/${part(container)}/schema/reset`, { confirmation }),
  resetContents: (container, environment, confirmation) => administer('POST', `${environmentPath(container, environment)}/reset`, { confirmation }),
  zones: async (container, environment) => (await administer('GET', `${environmentPath(container, environment)}/zones`)).zones,
  subscriptions: (container, environment) => administer('GET', `${environmentPath(container, environment)}/subscriptions`),
  faults: async () => (await administer('GET', 'faults')).rules,
  addFault: rule => administer('POST', 'faults', rule),
  replaceFaults: rules => administer('PUT', 'faults', rules),
  removeFault: number => administer('DELETE', `faults/${number}`),
  removeFaults: () => administer('DELETE', 'faults'),
  requests: limit => administer('GET', `requests${limit ? `?limit=${limit}` : ''}`),
  request: number => administer('GET', `requests/${number}`),
  replay: number => administer('POST', `requests/${number}/replay`),
  snapshots: async () => (await administer('GET', 'snapshots')).snapshots,
  takeSnapshot: name => administer('POST', 'snapshots', { name }),
  loadSnapshot: (name, file) => administer('PUT', `snapshots/${part(name)}`, file, 'application/vnd.sqlite3'),
  restoreSnapshot: name => administer('POST', `snapshots/${part(name)}/restoration`),
  deleteSnapshot: name => administer('DELETE', `snapshots/${part(name)}`),
  snapshotFile: name => administer('GET', `snapshots/${part(name)}`),
  compareSnapshots: (name, other) => administer('GET', `snapshots/${part(name)}/comparison${other ? `?other=${part(other)}` : ''}`),
}
