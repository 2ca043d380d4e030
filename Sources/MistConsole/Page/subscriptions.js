// Subscriptions, and each of their pushes with its payload.

import { administration } from './administration.js'
import { view } from './address.js'
import { button, copyButton, fill, h, icon } from './dom.js'
import { ask, askForm, labelled, openDialog, say } from './dialogs.js'
import { filterOf, readCondition } from './comparators.js'
import { whileShown } from './events.js'
import { refusalView } from './refusals.js'
import { actingUser, schema, session, userName } from './session.js'
import { ownFields, protocolType } from './schema-text.js'
import { call, refusalOf, writeJSON, zones } from './service.js'
import { ago, localDate } from './values.js'

export async function subscriptionsSection() {
  const place = h('div', { class: 'section-body' })
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Subscriptions'), h('span', { class: 'space' }), !session.readOnly && button('New subscription', create, { icon: 'plus', kind: 'primary' })), place)

  async function read() {
    try {
      const reply = await call('subscriptions/list', {})
      const own = reply.subscriptions.filter(item => !item.serverErrorCode)
      const all = session.administration ? await administration.subscriptions(view.container, view.environment) : { subscriptions: [], pushes: [] }
      const others = all.subscriptions.filter(item => item.database !== view.scope || item.ownerRecordName !== actingUser())
      fill(place,
        h('div', { class: 'card' }, h('header', null, h('h2', null, `Of this identity in the ${view.scope} database`), h('span', { class: 'badge' }, String(own.length))),
          own.length ? h('div', { class: 'scroll-x' }, table(own.map(item => ({ item, more: all.subscriptions.find(other => other.subscriptionID === item.subscriptionID && other.database === view.scope && other.ownerRecordName === actingUser()) })), false)) : h('div', { class: 'empty' }, icon('subscriptions'), h('p', null, 'None. A subscription makes the service notify when records change.'))),
        others.length > 0 && h('div', { class: 'card' }, h('header', null, h('h2', null, 'All others')), h('div', { class: 'scroll-x' }, table(others.map(more => ({ item: JSON.parse(more.body), more })), true))),
        session.administration && h('div', { class: 'card' }, h('header', null, h('h2', null, 'Pushes'), h('span', { class: 'badge' }, String(all.pushes.length)), h('span', { class: 'note' }, 'since the start, the newest first')),
          all.pushes.length ? h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' }, h('thead', null, h('tr', null, ['When', 'Subscription', 'User', 'Devices', 'What'].map(title => h('th', { scope: 'col' }, title)), h('td'))),
            h('tbody', null, [...all.pushes].sort((a, b) => b.timestamp - a.timestamp).slice(0, 200).map(push => h('tr', null, h('td', { class: 'note', title: localDate(push.timestamp) }, ago(push.timestamp)), h('td', { class: 'mono' }, push.subscriptionID), h('td', null, userName(push.ownerRecordName)), h('td', { class: 'number' }, push.devices), h('td', { class: 'mono note' }, what(push.payload)), h('td', { class: 'acts' }, button('Payload', () => showJSON('Payload', push.payload), { icon: 'code', kind: 'plain named' }))))))) : h('div', { class: 'empty' }, h('p', null, 'No subscription has fired yet.'))))
    } catch (error) { fill(place, refusalView(error, { retry: read })) }
  }

  /** @param {string} payload */
  function what(payload) {
    const { ck } = JSON.parse(payload)
    if (ck?.qry) return `${({ 1: 'created', 2: 'updated', 3: 'deleted' })[ck.qry.fo] ?? 'changed'} ${ck.qry.rid}`
    return `changes in ${ck?.fet?.zid ?? ck?.met?.zid ?? 'the database'}`
  }

  /** @param {string} title @param {string} text */
  function showJSON(title, text) {
    const pretty = writeJSON(JSON.parse(text), 2)
    openDialog(title, () => h('pre', { class: 'code', tabindex: 0 }, pretty), { kind: 'wide', actions: close => [copyButton(pretty), button('Close', () => close())] })
  }

  const table = (rows, isOthers) => h('table', { class: 'plain-table' },
    h('thead', null, h('tr', null, ['Subscription', isOthers && 'Whose', 'Kind', 'Of', 'Fires on', session.administration && 'Fired'].filter(Boolean).map(title => h('th', { scope: 'col', class: title === 'Fired' ? 'number' : '' }, title)), h('td'))),
    h('tbody', null, rows.map(({ item, more }) => h('tr', null,
      h('td', { class: 'mono' }, item.subscriptionID), isOthers && h('td', null, `${userName(more.ownerRecordName)}, ${more.database}`), h('td', null, item.subscriptionType),
      h('td', null, item.query ? [item.query.recordType, item.query.filterBy?.length ? h('span', { class: 'note' }, ` with ${item.query.filterBy.length} ${item.query.filterBy.length === 1 ? 'condition' : 'conditions'}`) : null] : item.zoneID?.zoneName ?? 'the database', item.zoneID && item.query && h('span', { class: 'note' }, ` in ${item.zoneID.zoneName}`)),
      h('td', { class: 'note' }, [...(item.firesOn ?? ['any change']), item.firesOnce && 'once'].filter(Boolean).join(', ')), session.administration && h('td', { class: 'number' }, more?.pushes ?? ''),
      h('td', { class: 'acts' }, button(`${item.subscriptionID} as JSON`, () => showJSON(item.subscriptionID, JSON.stringify(item)), { icon: 'code', quiet: true }), !isOthers && !session.readOnly && button(`Delete ${item.subscriptionID}`, () => remove(item), { icon: 'trash', quiet: true }))))))

  async function remove(item) {
    if (!await ask(`Delete ${item.subscriptionID}?`, 'Its notifications end.', 'Delete', { kind: 'danger' })) return
    const reply = await call('subscriptions/modify', { operations: [{ operationType: 'delete', subscription: { subscriptionID: item.subscriptionID } }] })
    if (reply.subscriptions[0].serverErrorCode) say(reply.subscriptions[0].reason, { kind: 'bad' })
    await read()
  }

  async function create() {
    const known = await schema().catch(() => ({ types: [], roles: [] }))
    const places = view.scope === 'public' ? [] : (await zones()).map(zone => zone.zoneID)
    const kind = h('select', { name: 'kind', onchange: () => draw() }, [['query', 'records of a query'], ...(view.scope === 'public' ? [] : [['zone', 'a zone'], ['database', 'the database']])].map(([value, text]) => h('option', { value }, text)))
    const slot = h('div', { class: 'form' })
    const zoneSelect = () => labelled('Zone', h('select', { name: 'zone' }, kind.value === 'query' && h('option', { value: '' }, 'all'), places.map((zone, index) => h('option', { value: index, selected: zone.zoneName === view.zone }, zone.zoneName))))
    const draw = () => fill(slot,
      kind.value === 'query' && [labelled('Record type', h('select', { name: 'type' }, known.types.map(type => h('option', { value: type.name, selected: type.name === view.item }, type.name)))), labelled('Conditions', h('textarea', { name: 'filter', class: 'mono', rows: 2, placeholder: 'rating > 3', spellcheck: 'false' }), 'One on each line; may be empty'),
        h('fieldset', { class: 'checks' }, h('legend', { class: 'label' }, 'Fires on'), ['create', 'update', 'delete'].map(name => h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'on', value: name, checked: true }), name)), h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'once' }), 'once only'))],
      kind.value !== 'database' && places.length > 0 && zoneSelect())
    draw()
    const made = await askForm('New subscription', [labelled('Identifier', h('input', { name: 'id', required: true, autocomplete: 'off', spellcheck: 'false' })), labelled('Of', kind), slot, labelled('Message', h('input', { name: 'message', autocomplete: 'off' }), 'What the notification shows; empty for a silent one')], 'Create', async data => {
      const zone = data.get('zone') ? places[Number(data.get('zone'))] : undefined
      const type = known.types.find(type => type.name === data.get('type'))
      const typeOf = name => { const field = ownFields(type).find(field => field.name === name); return field && protocolType(field.type) }
      const message = String(data.get('message')).trim()
      const subscription = {
        subscriptionID: String(data.get('id')).trim(), subscriptionType: kind.value,
        ...(kind.value === 'query' ? { query: { recordType: data.get('type'), filterBy: String(data.get('filter')).split('\n').filter(line => line.trim()).map(line => filterOf(readCondition(line), typeOf)) }, firesOn: data.getAll('on'), ...(data.has('once') ? { firesOnce: true } : {}) } : {}),
        ...(zone ? { zoneID: { zoneName: zone.zoneName } } : kind.value === 'query' ? { zoneWide: true } : {}),
        notificationInfo: message ? { alertBody: message } : { shouldSendContentAvailable: true },
      }
      const reply = await call('subscriptions/modify', { operations: [{ operationType: 'create', subscription }] })
      if (reply.subscriptions[0].serverErrorCode) throw refusalOf(reply.subscriptions[0], 'subscriptions/modify')
    })
    if (made) await read()
  }

  await read()
  let timer = 0
  whileShown('change', element, () => { clearTimeout(timer); timer = setTimeout(read, 400) })
  return { element, commands: () => session.readOnly ? [] : [{ text: 'New subscription', keys: 'n', act: create }] }
}

