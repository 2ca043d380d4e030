// The frame: where one is, the sections, whom one acts as, and which section is shown.

import { administration } from './administration.js'
import { addressOf, onView, show, view } from './address.js'
import { actAs, actingStrip, createUser, dot, openActing } from './acting.js'
import { button, choice, fill, h, icon } from './dom.js'
import { events, isLive, listen } from './events.js'
import { say } from './dialogs.js'
import { listenForKeys, openKeys, openPalette } from './palette.js'
import { recordsSection } from './records.js'
import { refusalView } from './refusals.js'
import { begin, countOf, forgetSchemas, identityName, loadContainers, loadCounts, loadUsers, onSession, schema, session } from './session.js'
import { zones } from './service.js'
import { count } from './values.js'
import { undoLast } from './writes.js'

/**
 * @typedef {object} Section
 * @property {string} name @property {string} title @property {string} keys
 * @property {boolean} [administration] Whether it needs the administration of an emulator.
 * @property {() => Promise<{ element: Element, update?: (view: any, old: any) => boolean, commands?: () => any[] }>} open
 */

/** @type {Section[]} */
const sections = [
  { name: 'records', title: 'Records', keys: 'g r', open: recordsSection },
  { name: 'schema', title: 'Schema', keys: 'g s', administration: true, open: async () => (await import('./schema.js')).schemaSection() },
  { name: 'zones', title: 'Zones and changes', keys: 'g z', open: async () => (await import('./zones.js')).zonesSection() },
  { name: 'shares', title: 'Shares', keys: 'g h', open: async () => (await import('./shares.js')).sharesSection() },
  { name: 'subscriptions', title: 'Subscriptions', keys: 'g u', open: async () => (await import('./subscriptions.js')).subscriptionsSection() },
  { name: 'people', title: 'People', keys: 'g p', administration: true, open: async () => (await import('./people.js')).peopleSection() },
  { name: 'requests', title: 'Requests', keys: 'g l', administration: true, open: async () => (await import('./requests.js')).requestsSection() },
  { name: 'faults', title: 'Faults', keys: 'g f', administration: true, open: async () => (await import('./faults.js')).faultsSection() },
  { name: 'snapshots', title: 'Snapshots', keys: 'g n', administration: true, open: async () => (await import('./snapshots.js')).snapshotsSection() },
]
const shownSections = () => sections.filter(section => session.administration || !section.administration)

const top = /** @type {HTMLElement} */ (document.getElementById('top'))
const side = /** @type {HTMLElement} */ (document.getElementById('side'))
const main = /** @type {HTMLElement} */ (document.getElementById('main'))
/** @type {HTMLElement | undefined} */
let strip

/** The parts of the bar that change; it is built once, so that it never takes the focus away. */
const bar = {
  acting: h('button', { type: 'button', class: 'button acting-button', 'aria-haspopup': 'menu', 'aria-expanded': 'false', title: 'Act as someone else', onclick: () => openActing(bar.acting) }),
  live: h('span', { class: 'live', hidden: true }),
}

function drawTop() {
  if (!bar.acting.isConnected) {
    fill(top,
      button('Sections', () => { const isOpen = side.classList.toggle('open'); top.querySelector('.menu-button')?.setAttribute('aria-expanded', String(isOpen)); if (isOpen) /** @type {any} */ (side.querySelector('select, a'))?.focus() }, { icon: 'menu', quiet: true, kind: 'menu-button', 'aria-expanded': 'false', 'aria-controls': 'side' }),
      h('span', { class: 'brand' }, 'MistKit', h('span', null, session.service === 'cloudKit' ? 'CloudKit' : 'console')),
      h('span', { class: 'space' }),
      h('button', { type: 'button', class: 'button top-search', 'aria-label': 'Commands', 'aria-haspopup': 'dialog', onclick: openPalette }, icon('search'), h('span', null, 'Search or command'), h('kbd', null, 'Ctrl K')),
      bar.live, bar.acting)
  }
  bar.live.hidden = !session.administration
  bar.live.classList.toggle('on', isLive)
  bar.live.title = isLive ? 'Changes of other clients appear by themselves' : 'No stream of changes'
  bar.live.textContent = isLive ? 'live' : 'not live'
  bar.acting.setAttribute('aria-label', `Act as: ${identityName(view.as)}`)
  fill(bar.acting, dot(view.as), h('span', { class: 'acting-name' }, identityName(view.as)), icon('chevron'))
  const next = actingStrip()
  if (!strip) top.after(next)
  else if (strip.textContent !== next.textContent || strip.className !== next.className || strip.hidden !== next.hidden) strip.replaceWith(next)
  else return
  strip = next
}

/** @type {{ zoneName: string, ownerRecordName?: string }[]} */
let zoneList = []
let zonesOf = ''
async function loadZones(again = false) {
  const key = [view.container, view.environment, view.scope, view.as].join('\n')
  if (key === zonesOf && !again) return
  zonesOf = key
  let list = []
  if (view.scope !== 'public') list = await zones().then(all => all.map(zone => zone.zoneID), () => [])
  if (key !== zonesOf) return
  zoneList = list
  drawSide()
}

document.addEventListener('locked', async () => {
  const state = await administration.session()
  if (!state.isOpen) askToOpen(state)
})

let drawing = 0
async function drawSide() {
  const mine = ++drawing
  const types = session.administration || view.section === 'records' ? (await schema().catch(() => ({ types: [] }))).types : []
  if (mine !== drawing) return
  const zoneValue = view.zone ? JSON.stringify([view.zone, view.owner]) : ''
  const zoneOptions = /** @type {[string, string][]} */ ([['', 'All zones'], ...zoneList.map(zone => [JSON.stringify([zone.zoneName, view.scope === 'shared' ? zone.ownerRecordName ?? '' : '']), zone.zoneName + (view.scope === 'shared' ? ` of ${identityName(zone.ownerRecordName ?? '')}` : '')])])
  if (zoneValue && !zoneOptions.some(([value]) => value === zoneValue)) zoneOptions.push([zoneValue, view.zone])
  const focused = document.activeElement?.closest('#side') ? document.activeElement.getAttribute('data-control') : undefined
  const reset = { record: '', filter: [], sort: [], columns: [] }
  fill(side,
    h('div', { class: 'where' },
      h('div', { class: 'wide' }, choice('Container', [...new Set([...session.containers, view.container])].map(name => [name, name]), view.container, container => show({ container, item: '', zone: '', owner: '', ...reset }), { 'data-control': 'container' })),
      h('div', { class: 'environment' }, choice('Environment', [['development', 'Development'], ['production', 'Production']], view.environment, environment => show({ environment, zone: '', owner: '', ...reset }), { 'data-control': 'environment' })),
      choice('Database', [['public', 'Public'], ['private', 'Private'], ['shared', 'Shared']], view.scope, scope => show({ scope, zone: '', owner: '', ...reset }), { 'data-control': 'scope' }),
      view.scope !== 'public' && h('div', { class: 'wide' }, choice('Zone', zoneOptions, zoneValue, value => { const [zone, owner] = value ? JSON.parse(value) : ['', '']; show({ zone, owner, record: '' }) }, { 'data-control': 'zone' }))),
    h('ul', { class: 'sections' }, shownSections().map(section => h('li', null,
      h('a', { href: addressOf({ section: section.name, item: '' }), 'aria-current': view.section === section.name && (section.name !== 'records' || !view.item) ? 'page' : undefined, 'data-control': section.name }, icon(section.name), h('span', null, section.title)),
      section.name === 'records' && types.length > 0 && h('ul', { class: 'types' }, types.filter(type => type.name !== 'Users' || countOf('Users')).map(type => h('li', null, h('a', { href: addressOf({ section: 'records', item: type.name }), 'aria-current': view.section === 'records' && view.item === type.name ? 'page' : undefined, 'data-control': `type ${type.name}` }, h('span', { class: 'name' }, type.name), h('span', { class: 'number' }, countOf(type.name) === undefined ? '' : count(countOf(type.name) ?? 0))))))))),
    h('div', { class: 'side-end' }, `MistKit ${session.version}`, h('br'), session.address))
  if (focused) /** @type {any} */ ([...side.querySelectorAll('[data-control]')].find(element => element.getAttribute('data-control') === focused))?.focus()
}

/** @type {{ element: Element, update?: (view: any, old: any) => boolean, commands?: () => any[] } | undefined} */
let shown
let opening = 0
async function open() {
  const mine = ++opening
  const section = shownSections().find(section => section.name === view.section) ?? sections[0]
  document.title = `${view.section === 'records' && view.item ? view.item : section.title} · MistKit console`
  let next
  try { next = await section.open() } catch (error) { next = { element: h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, section.title)), refusalView(error, { title: 'Not shown', retry: open })) } }
  if (mine !== opening) return
  shown = next
  fill(main, next.element)
  main.dataset.shown = location.hash
}

onView((now, old) => {
  side.classList.remove('open')
  drawTop()
  if (now.container !== old.container || now.environment !== old.environment) forgetSchemas()
  loadZones()
  drawSide()
  if (shown?.update?.(now, old)) main.dataset.shown = location.hash
  else open()
})
// On a narrow screen the sections cover the page.
side.addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !side.classList.contains('open')) return
  side.classList.remove('open')
  const opener = /** @type {any} */ (top.querySelector('.menu-button'))
  opener?.setAttribute('aria-expanded', 'false')
  opener?.focus()
})
let pending = 0
onSession(() => { pending ||= requestAnimationFrame(() => { pending = 0; drawTop(); drawSide() }) })

/** @returns {import('./palette.js').Command[]} */
function commands() {
  return [
    ...(shown?.commands?.() ?? []),
    ...shownSections().map(section => ({ text: section.title, keys: section.keys, icon: section.name, act: () => { location.hash = addressOf({ section: section.name, item: '' }) } })),
    ...[...side.querySelectorAll('.types a')].map(link => ({ text: link.querySelector('.name')?.textContent ?? '', note: 'record type', icon: 'records', act: () => /** @type {any} */ (link).click() })),
    ...session.users.map(user => ({ text: `Act as ${identityName(user.userRecordName)}`, icon: 'person', act: () => actAs(user.userRecordName) })),
    ...session.identities.filter(identity => identity.value !== 'user').map(identity => ({ text: `Act as: ${identity.title}`, icon: 'person', act: () => actAs(identity.value) })),
    ...(session.canAdminister ? [{ text: 'New user', icon: 'plus', act: async () => { const user = await createUser(); if (user) actAs(user.userRecordName) } }] : []),
    ...['public', 'private', 'shared'].map(scope => ({ text: `Database: ${scope}`, icon: 'zones', act: () => show({ scope, zone: '', owner: '', record: '' }) })),
    ...['development', 'production'].map(environment => ({ text: `Environment: ${environment}`, icon: 'zones', act: () => show({ environment, zone: '', owner: '', record: '' }) })),
    { text: 'Undo the last change', keys: 'u', icon: 'undo', act: undoLast },
    { text: 'Copy the address of this view', icon: 'link', act: async () => { await navigator.clipboard.writeText(location.href); say('The address is copied.') } },
    { text: 'Show the keys', keys: '?', icon: 'keyboard', act: openKeys },
    { text: 'End the sessions of this page', icon: 'close', act: async () => { await administration.closeSession(); location.reload() } },
  ]
}

/**
 * The page without a session: a password, or where to find the address.
 * @param {{ needsPassword: boolean }} state
 */
function askToOpen(state) {
  const problem = h('p', { class: 'problem-text', role: 'alert' })
  fill(main, h('section', { class: 'empty' }, h('h1', null, 'This console is locked'), state.needsPassword
    ? h('form', { class: 'form', onsubmit: async event => {
      event.preventDefault()
      try { await administration.openSession(new FormData(event.target).get('password')); location.reload() } catch (error) { problem.textContent = error.message }
    } }, h('label', { class: 'labelled' }, h('span', { class: 'label' }, 'Password'), h('input', { type: 'password', name: 'password', required: true, autocomplete: 'current-password', autofocus: true })), problem, h('button', { type: 'submit', class: 'button primary' }, 'Open'))
    : h('p', null, 'Open the address that the command printed when it started; it has the secret of that start.')))
  side.hidden = true
  document.body.classList.add('locked')
  fill(top, h('span', { class: 'brand' }, 'MistKit', h('span', null, 'console')))
  shown = undefined
  opening++
}

async function start() {
  try {
    const state = await administration.session()
    if (!state.isOpen) { askToOpen(state); return }
    await begin()
  } catch (error) {
    fill(main, refusalView(error, { title: 'The console does not begin', retry: () => location.reload() }))
    return
  }
  drawTop()
  drawSide()
  loadZones()
  open()
  listenForKeys(commands)
  if (!session.administration) return
  listen()
  events.addEventListener('live', drawTop)
  let timer = 0
  events.addEventListener('change', () => { clearTimeout(timer); timer = setTimeout(() => { forgetSchemas(); loadCounts(); loadContainers(); loadZones(true) }, 400) })
  events.addEventListener('schema', () => { forgetSchemas(); drawSide() })
  events.addEventListener('users', loadUsers)
  events.addEventListener('restored', () => { forgetSchemas(); loadUsers(); loadCounts(); loadZones(true) })
}
start()
