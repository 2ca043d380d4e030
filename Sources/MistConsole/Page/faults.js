// What goes wrong for clients, on purpose, and how often it did.

import { administration } from './administration.js'
import { askForFile, button, copyButton, fill, h, icon, saveFile } from './dom.js'
import { askForm, labelled, menuButton, say } from './dialogs.js'
import { whileShown } from './events.js'
import { identityName, session } from './session.js'
import { count } from './values.js'

/**
 * The kinds of faults, with the options that each takes beside `on`, `in`, `by`, `calls` and `probability`.
 * @type {[string, string, string[]][]}
 */
const kinds = [
  ['throttle', '429, THROTTLED', ['retryAfter']], ['refuse', 'refused with a code', ['code', 'status', 'reason', 'retryAfter']], ['refuseItems', 'single records fail', ['code', 'reason', 'records', 'retryAfter']],
  ['delay', 'carried out later', ['seconds']], ['slowReply', 'the reply comes in pieces', ['bytes', 'seconds']], ['hang', 'no reply comes', ['seconds']],
  ['loseRequest', 'the connection breaks before anything is done', []], ['loseReply', 'carried out, but the connection breaks before the reply', []], ['resetReply', 'the connection breaks within the reply', ['bytes']],
  ['expiredToken', 'the sign-in counts as expired', []], ['undeliveredRecords', 'records of a page have an error', ['code', 'records']], ['clockSkew', 'the clock is wrong', ['seconds']],
  ['misdirected', '421 in the meaning of HTTP/2', []], ['htmlPage', 'a page of a proxy', ['status']], ['emptyReply', 'a status without a body', ['status']], ['invalidJSON', 'the reply is not JSON', []], ['truncateReply', 'the JSON is cut', ['bytes']], ['contentType', 'another content type', ['type']],
]
/**
 * Faults that people look for by what happens.
 * @type {[string, any][]}
 */
const presets = [
  ['Throttle the next two writes', { fault: 'throttle', on: 'records/modify', retryAfter: 1, calls: { first: 2 } }], ['Lose the reply of the next write', { fault: 'loseReply', on: 'records/modify', calls: { first: 1 } }],
  ['Conflict on the next write', { fault: 'refuseItems', on: 'records/modify', code: 'CONFLICT', reason: 'client oplock error updating record', calls: { first: 1 } }], ['Quota exceeded for every write', { fault: 'refuse', on: 'records/modify', code: 'QUOTA_EXCEEDED', status: 413, calls: 'all' }],
  ['Expire the change token once', { fault: 'refuse', on: 'changes/zone', code: 'CHANGE_TOKEN_EXPIRED', status: 400, calls: { first: 1 } }], ['A second more for every request', { fault: 'delay', seconds: 1, calls: 'all' }], ['A tenth of all requests is lost', { fault: 'loseRequest', calls: 'all', probability: 0.1, seed: 1 }],
]
const numbers = ['retryAfter', 'seconds', 'bytes', 'status']
const endpoints = ['records/query', 'records/lookup', 'records/modify', 'changes/zone', 'changes/database', 'zones/list', 'zones/modify', 'assets/upload', 'subscriptions/modify', 'users/caller']

/** @param {any} calls */
const callsText = calls => calls === undefined ? 'the first request' : calls === 'all' ? 'every request' : calls.first ? `the first ${calls.first}` : calls.only ? `number ${calls.only}` : calls.from ? `from number ${calls.from}` : `every ${calls.every}th`

export async function faultsSection() {
  const place = h('div', { class: 'section-body' })
  /** @type {{ number: number, rule: any, matchedRequests: number, firedRequests: number }[]} */
  let states = []
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Faults'), h('span', { class: 'space' }),
    session.canAdminister && menuButton('Presets', () => presets.map(([text, rule]) => ({ text, icon: 'faults', act: () => add(rule) })), { icon: 'chevron', kind: 'named' }),
    menuButton('More', () => [
      { text: 'Save as a file', icon: 'download', act: () => saveFile('faults.json', [JSON.stringify(states.map(state => state.rule), null, 2) + '\n'], 'application/json') },
      session.canAdminister && { text: 'Load a file …', icon: 'upload', act: load }, session.canAdminister && 'line', session.canAdminister && { text: 'Remove all', icon: 'trash', kind: 'danger', act: async () => { await administration.removeFaults(); await read() } },
    ]),
    session.canAdminister && button('New fault', create, { icon: 'plus', kind: 'primary' })), place)

  async function add(rule) {
    states = (await administration.addFault(rule)).rules
    draw()
    say('The fault is on.')
    return true
  }
  async function load() {
    const file = await askForFile('.json')
    if (!file) return
    try { states = (await administration.replaceFaults(JSON.parse(await file.text()))).rules; draw() } catch (error) { say(error.message, { kind: 'bad', seconds: 12 }) }
  }
  async function read() { states = await administration.faults(); draw() }

  async function create() {
    const kind = h('select', { name: 'fault', onchange: () => draw() }, kinds.map(([name, text]) => h('option', { value: name }, `${name}: ${text}`)))
    const slot = h('div', { class: 'form-row' })
    const which = h('select', { name: 'calls', onchange: () => { amount.disabled = which.value === 'all' } }, [['first', 'the first …'], ['all', 'every request'], ['every', 'every … th'], ['only', 'number … alone'], ['from', 'from number … on']].map(([value, text]) => h('option', { value }, text)))
    const amount = h('input', { name: 'amount', type: 'number', min: 1, value: '1', 'aria-label': 'How many' })
    const draw = () => { const options = kinds.find(([name]) => name === kind.value)?.[2] ?? []; fill(slot, options.map(name => labelled(({ retryAfter: 'Retry after (s)', seconds: 'Seconds', bytes: 'Bytes', status: 'Status', code: 'Code', reason: 'Reason', records: 'Record names', type: 'Content type' })[name] ?? name, h('input', { name: `option ${name}`, inputmode: numbers.includes(name) ? 'decimal' : 'text', autocomplete: 'off', spellcheck: 'false' })))) }
    draw()
    await askForm('New fault', [labelled('What goes wrong', kind), slot,
      h('div', { class: 'form-row' }, labelled('For the endpoint', h('input', { name: 'on', list: 'endpoints', placeholder: 'all', autocomplete: 'off', spellcheck: 'false' })), labelled('In the database', h('select', { name: 'in' }, [['', 'all'], ['public', 'public'], ['private', 'private'], ['shared', 'shared']].map(([value, text]) => h('option', { value }, text)))), labelled('By', h('select', { name: 'by' }, [['', 'everyone'], ['nobody', 'nobody'], ['server', 'server keys'], ...session.users.map(user => [user.userRecordName, identityName(user.userRecordName)])].map(([value, text]) => h('option', { value }, text))))),
      h('datalist', { id: 'endpoints' }, endpoints.map(value => h('option', { value }))),
      h('div', { class: 'form-row' }, labelled('Which of them', which), labelled('How many', amount), labelled('Probability', h('input', { name: 'probability', inputmode: 'decimal', placeholder: '1' })), labelled('Seed', h('input', { name: 'seed', inputmode: 'numeric', placeholder: '0' })))], 'Switch on', data => {
      /** @type {any} */
      const rule = { fault: data.get('fault') }
      for (const name of ['on', 'in', 'by']) if (data.get(name)) rule[name] = data.get(name)
      const whole = (name, text) => { if (!Number.isFinite(Number(text))) throw new Error(`${name} is not a number.`); return Number(text) }
      for (const name of ['probability', 'seed']) if (data.get(name)) rule[name] = whole(name, data.get(name))
      rule.calls = data.get('calls') === 'all' ? 'all' : { [String(data.get('calls'))]: whole('The number', data.get('amount')) }
      for (const [key, value] of data) {
        if (!key.startsWith('option ') || !value) continue
        const name = key.slice(7)
        rule[name] = numbers.includes(name) ? whole(name, value) : name === 'records' ? String(value).split(',').map(text => text.trim()).filter(Boolean) : value
      }
      return add(rule)
    })
  }

  function draw() {
    const command = `mistkit emulator --faults faults.json`
    fill(place, !states.length
      ? h('div', { class: 'empty' }, icon('faults'), h('h2', null, 'Everything works'), h('p', null, 'A fault makes requests of clients fail as they can fail on Apple’s service: busy, slow, lost, refused. The console’s own requests to the administration are not affected; its requests for records are.'), session.canAdminister && button('New fault', create, { icon: 'plus', kind: 'primary named' }))
      : [h('div', { class: 'card' }, h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' },
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Fault'), h('th', { scope: 'col' }, 'For'), h('th', { scope: 'col' }, 'Which'), h('th', { scope: 'col', class: 'number' }, 'Matched'), h('th', { scope: 'col', class: 'number' }, 'Fired'), h('td'))),
        h('tbody', null, states.map(({ number, rule, matchedRequests, firedRequests }) => {
          const { fault, on, in: database, by, calls, probability, seed, ...options } = rule
          return h('tr', null, h('td', null, h('strong', null, fault), h('span', { class: 'note' }, ` ${Object.entries(options).map(([name, value]) => `${name} ${value}`).join(', ')}`)), h('td', null, h('span', { class: 'mono' }, on ?? 'all endpoints'), h('span', { class: 'note' }, `${database ? `, ${database}` : ''}${by ? `, ${identityName(by)}` : ''}`)), h('td', null, callsText(calls), probability !== undefined && h('span', { class: 'note' }, `, ${probability * 100} %, seed ${seed ?? 0}`)), h('td', { class: 'number' }, count(matchedRequests)), h('td', { class: 'number' }, h('span', { class: `badge ${firedRequests ? 'warn' : ''}` }, count(firedRequests ?? 0))), h('td', { class: 'acts' }, session.canAdminister && button(`Remove ${fault}`, async () => { states = (await administration.removeFault(number)).rules; draw() }, { icon: 'trash', quiet: true })))
        }))))),
        h('div', { class: 'card' }, h('header', null, h('h2', null, 'The same as a file'), h('code', { class: 'note' }, command), h('span', { class: 'space' }), copyButton(JSON.stringify(states.map(state => state.rule), null, 2))), h('div', { class: 'card-body' }, h('pre', { class: 'code', tabindex: 0 }, `[\n${states.map(state => '  ' + JSON.stringify(state.rule)).join(',\n')}\n]`)))])
  }
  await read()
  let timer = 0
  whileShown('faults', element, detail => { states = detail.rules ?? states; draw() })
  whileShown('request', element, () => { if (states.length) { clearTimeout(timer); timer = setTimeout(read, 300) } })
  return { element, commands: () => !session.canAdminister ? [] : [{ text: 'New fault', keys: 'n', act: create }, ...presets.map(([text, rule]) => ({ text, icon: 'faults', act: () => add(rule) })), { text: 'Remove all faults', act: async () => { await administration.removeFaults(); await read() } }] }
}

