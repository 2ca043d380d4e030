// What is shown, in the part of the address behind `#`: a link shows a colleague the same, and the server never sees it.

/**
 * @typedef {object} View
 * @property {string} section
 * @property {string} item The record type of the section Records, or what else the section shows.
 * @property {string} container
 * @property {string} environment `development` or `production`
 * @property {string} scope `public`, `private` or `shared`
 * @property {string} zone A zone's name; `*` for all zones.
 * @property {string} owner The owner of the zone in the shared database.
 * @property {string} as Whom the page acts as: `nobody`, `server` or a user record name; empty for the default.
 * @property {string[]} filter
 * @property {string[]} sort
 * @property {string[]} columns
 * @property {string} record
 * @property {string} tab
 */

const lists = new Set(['filter', 'sort', 'columns'])
/** @type {View} */
const initial = { section: 'records', item: '', container: '', environment: 'development', scope: 'private', zone: '', owner: '', as: '', filter: [], sort: [], columns: [], record: '', tab: '' }

/** What an address without a container means. */
export const fallback = { container: '' }

/** @param {string} hash @returns {View} */
export function read(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [section, item] = path.split('/').map(decodeURIComponent)
  const view = { ...initial, ...fallback, section: section || 'records', item: item ?? '' }
  for (const [name, value] of new URLSearchParams(query)) {
    if (lists.has(name)) view[name] = name === 'columns' ? value.split(',').filter(Boolean) : [...view[name], value]
    else if (name in initial) view[name] = value
  }
  return view
}

/** @param {View} view */
export function write(view) {
  const query = new URLSearchParams()
  for (const name in initial) {
    if (name === 'section' || name === 'item') continue
    if (name === 'columns') { if (view.columns.length) query.set(name, view.columns.join(',')) }
    else if (lists.has(name)) for (const value of view[name]) query.append(name, value)
    else if (view[name] !== initial[name]) query.set(name, view[name])
  }
  const path = [view.section, view.item].filter(Boolean).map(encodeURIComponent).join('/')
  return `#/${path}?${query}`.replace(/\?$/, '')
}

/** @type {View} */
export let view = read(location.hash)
/** @type {((view: View, old: View) => void)[]} */
const observers = []

/** @param {(view: View, old: View) => void} observe */
export const onView = observe => void observers.push(observe)

function announce() {
  const old = view
  view = read(location.hash)
  for (const observe of observers) observe(view, old)
}
addEventListener('hashchange', announce)

/**
 * Changes what is shown. With `quietly`, no step back is added to the browser's history.
 * @param {Partial<View>} change @param {boolean} [quietly]
 */
export function show(change, quietly = false) {
  const hash = write({ ...view, ...change })
  if (hash === location.hash) return
  if (quietly) history.replaceState(null, '', hash)
  else history.pushState(null, '', hash)
  announce()
}

/**
 * The address of another view.
 * @param {Partial<View>} change
 */
export const addressOf = change => write({ ...view, record: '', filter: [], sort: [], columns: [], tab: '', ...change })
