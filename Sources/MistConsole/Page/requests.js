// The log of requests as it grows, each with its bodies, why it was refused, and as curl, Swift or JSON.

import { administration } from './administration.js'
import { addressOf, show, view } from './address.js'
import { barChart, lineChart, percentile } from './charts.js'
import { button, copyButton, fill, h, icon } from './dom.js'
import { codeView, say, tabbed } from './dialogs.js'
import { quoteShell, swiftOf } from './comparators.js'
import { whileShown } from './events.js'
import { refusalView, remedyOf } from './refusals.js'
import { identityName, session } from './session.js'
import { VirtualTable } from './table.js'
import { count, size, utcDate } from './values.js'

/** @typedef {{ number: number, timestamp: number, method: string, path: string, endpoint?: string, identity?: string, status?: number, milliseconds: number, requestBytes?: number, replyBytes?: number, requestUUID?: string, serverErrorCode?: string, fault?: string }} AnsweredRequest */

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' })
/** @param {AnsweredRequest} request */
const isFailed = request => request.status === undefined || request.status >= 400
/** @param {AnsweredRequest} request */
const endpointOf = request => request.endpoint ?? request.path
/** @param {string | undefined} identity */
const who = identity => identity ? identity === 'nobody' || identity === 'server' || identity.startsWith('_') ? identityName(identity) : identity : ''

/** @param {string} text */
function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2) } catch { return text }
}

/**
 * A request as a command for curl.
 * @param {any} logged
 */
function curlOf({ summary, requestBody }) {
  const lines = [`curl ${summary.method === 'POST' ? '' : `-X ${summary.method} `}"$MISTKIT_SERVER_URL${summary.path}"`, '--url-query "ckAPIToken=$MISTKIT_API_TOKEN"']
  if (summary.identity?.startsWith('_')) lines.push('--url-query "ckWebAuthToken=$MISTKIT_WEB_AUTH_TOKEN"')
  if (requestBody !== undefined) lines.push(`--header 'Content-Type: application/json'`, `--data ${quoteShell(requestBody)}`)
  return lines.join(' \\\n  ')
}

/**
 * A request in Swift.
 * @param {any} logged
 */
function swiftOfRequest({ summary, requestBody }) {
  const [, , , container, environment, scope] = summary.path.split('/')
  try {
    const body = JSON.parse(requestBody)
    if (summary.endpoint === 'records/query') return swiftOf(body.query, { ...view, container, environment, scope, zone: body.zoneID?.zoneName ?? '', owner: body.zoneID?.ownerRecordName ?? '' })
  } catch { /* The body is cut, or there is none. */ }
  return `import Foundation\n\nvar request = URLRequest(url: URL(string: serverURL + ${JSON.stringify(summary.path)} + "?ckAPIToken=\\(apiToken)${summary.identity?.startsWith('_') ? '&ckWebAuthToken=\\(encodedWebAuthToken)' : ''}")!)\nrequest.httpMethod = ${JSON.stringify(summary.method)}\n${requestBody === undefined ? '' : `request.httpBody = Data(#"""\n${pretty(requestBody)}\n"""#.utf8)\n`}let (data, response) = try await URLSession.shared.data(for: request)\n`
}

export async function requestsSection() {
  /** @type {AnsweredRequest[]} */
  let all = []
  let total = 0, isPaused = false
  const missed = []
  const option = name => view.filter.find(text => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  const setOption = (name, value) => show({ filter: [...view.filter.filter(text => !text.startsWith(`${name}=`)), ...(value ? [`${name}=${value}`] : [])] }, true)
  const matches = request => (!option('endpoint') || endpointOf(request) === option('endpoint'))
    && (!option('status') || (option('status') === 'failed' ? isFailed(request) : option('status') === 'ok' ? !isFailed(request) : option('status') === 'fault' ? Boolean(request.fault) : String(request.status) === option('status')))
    && (!option('by') || (request.identity ?? '') === option('by'))

  const table = new VirtualTable(), bar = h('div', { class: 'filter-bar', role: 'group', 'aria-label': 'Filters' }), number = h('span', { class: 'badge' }), charts = h('div', { class: 'charts', tabindex: 0, role: 'group', 'aria-label': 'Charts' }), end = h('div', { class: 'table-end' })
  const panel = h('aside', { class: 'panel', 'aria-label': 'Request', onkeydown: event => { if (event.key === 'Escape') close() } })
  const pause = button('Pause', () => { isPaused = !isPaused; pause.setAttribute('aria-pressed', String(isPaused)); if (!isPaused) { all.unshift(...missed.splice(0).reverse()); draw() } }, { icon: 'pause', 'aria-pressed': 'false' })
  const toggle = button('Charts', () => show({ tab: view.tab === 'charts' ? '' : 'charts' }, true), { icon: 'requests' })
  const list = h('div', { class: 'list' }, h('div', { class: 'section-head' }, h('h1', null, 'Requests'), number, h('span', { class: 'space' }), toggle, pause), bar, charts, table, end)
  const element = h('section', { class: 'records' }, list)

  table.configure({
    label: 'Requests', key: request => String(request.number), open: request => show({ record: String(request.number) }),
    rowClass: request => isFailed(request) ? 'failed' : '',
    columns: [
      { key: 'number', title: '#', width: 64, kind: 'number', text: request => String(request.number) },
      { key: 'time', title: 'time', width: 110, kind: 'quiet', text: request => clock.format(request.timestamp) },
      { key: 'endpoint', title: 'endpoint', width: 180, kind: 'mono', text: request => endpointOf(request) },
      { key: 'status', title: 'status', width: 74, draw: (cell, request) => cell.append(h('span', { class: `badge ${isFailed(request) ? 'bad' : 'good'}` }, request.status === undefined ? 'none' : String(request.status))) },
      { key: 'by', title: 'identity', width: 130, text: request => who(request.identity) },
      { key: 'where', title: 'where', width: 170, kind: 'quiet', text: request => { const [, module, , , environment, scope] = request.path.split('/'); return module === 'database' ? `${environment}, ${scope}` : module } },
      { key: 'ms', title: 'ms', width: 76, kind: 'number', text: request => request.milliseconds < 100 ? request.milliseconds.toFixed(1) : String(Math.round(request.milliseconds)) },
      { key: 'size', title: 'reply', width: 84, kind: 'number quiet', text: request => request.replyBytes === undefined ? '' : size(request.replyBytes) },
      { key: 'code', title: 'code', width: 200, kind: 'mono', draw: (cell, request) => { if (request.serverErrorCode) cell.append(request.serverErrorCode); if (request.fault) cell.append(' ', h('span', { class: 'badge warn' }, `fault: ${request.fault}`)) } },
    ],
  })

  let options = ''
  function drawBar() {
    const state = JSON.stringify([[...new Set(all.map(endpointOf))].sort(), [...new Set(all.map(request => request.status))].sort(), [...new Set(all.map(request => request.identity))].sort(), view.filter.length > 0])
    for (const element of bar.querySelectorAll('select')) /** @type {any} */ (element).value = option(element.getAttribute('data-option'))
    // A select that someone uses stays as it is.
    if (state === options || bar.contains(document.activeElement)) return
    options = state
    const select = (label, name, values) => {
      const element = h('select', { 'aria-label': label, 'data-option': name, onchange: () => setOption(name, element.value) }, h('option', { value: '' }, `${label}: all`), values.map(([value, text]) => h('option', { value, selected: value === option(name) }, text)))
      return h('span', { class: 'inline-select' }, element)
    }
    const distinct = read => [...new Set([...all.map(read), ''])].filter(Boolean).sort()
    const withChosen = (values, name) => option(name) && !values.includes(option(name)) ? [...values, option(name)] : values
    fill(bar, select('Endpoint', 'endpoint', withChosen(distinct(endpointOf), 'endpoint').slice(0, 80).map(value => [value, value])), select('Status', 'status', [['ok', 'answered'], ['failed', 'failed'], ['fault', 'with a fault'], ...distinct(request => String(request.status ?? '')).map(value => [value, value])]), select('Identity', 'by', withChosen(distinct(request => request.identity ?? ''), 'by').map(value => [value, who(value)])), view.filter.length > 0 && button('Show all', () => show({ filter: [] }, true), { kind: 'plain named' }))
  }

  function draw() {
    const rows = view.filter.length ? all.filter(matches) : all
    number.textContent = count(total)
    toggle.setAttribute('aria-pressed', String(view.tab === 'charts'))
    table.update(rows)
    fill(end, h('span', null, `${count(rows.length)} shown of the last ${count(all.length)}`), isPaused && h('span', { class: 'badge warn' }, `paused, ${missed.length} waiting`))
    charts.hidden = view.tab !== 'charts'
    if (!charts.hidden) drawCharts(rows)
  }

  /** @param {AnsweredRequest[]} rows */
  function drawCharts(rows) {
    const minute = 60_000, to = Date.now(), from = to - 60 * minute
    const recent = rows.filter(request => request.timestamp >= from)
    const buckets = Array.from({ length: 60 }, () => /** @type {AnsweredRequest[]} */ ([]))
    for (const request of recent) buckets[Math.min(59, Math.floor((request.timestamp - from) / minute))].push(request)
    const at = index => from + (index + 0.5) * minute
    const times = buckets.map(bucket => bucket.map(request => request.milliseconds).sort((a, b) => a - b))
    /** @type {Map<string, { value: number, of: number }>} */
    const errors = new Map()
    for (const request of recent) { const known = errors.get(endpointOf(request)) ?? { value: 0, of: 0 }; known.of++; if (isFailed(request) || request.serverErrorCode) known.value++; errors.set(endpointOf(request), known) }
    fill(charts,
      lineChart({ title: 'Requests', unit: 'a second', from, to, isArea: true, series: [{ name: 'requests', points: buckets.map((bucket, index) => [at(index), bucket.length / 60]) }] }),
      lineChart({ title: 'Times', unit: 'ms', from, to, series: [['median', 0.5], ['95th', 0.95], ['99th', 0.99]].map(([name, part]) => ({ name: String(name), points: times.map((list, index) => /** @type {[number, number | undefined]} */ ([at(index), percentile(list, Number(part))])) })) }),
      barChart('Errors by endpoint', [...errors].map(([name, error]) => ({ name, ...error })).filter(bar => bar.value).sort((a, b) => b.value - a.value).slice(0, 6)))
  }

  function close() { show({ record: '' }); table.focus() }

  async function drawPanel() {
    element.classList.toggle('open', Boolean(view.record))
    if (!view.record) { panel.remove(); return }
    element.append(panel)
    const wanted = view.record
    const head = summary => h('header', null, h('div', { class: 'titles' }, h('h1', null, summary ? `${summary.method} ${endpointOf(summary)}` : `Request ${wanted}`), summary && h('span', { class: 'note' }, `#${summary.number} · ${utcDate(summary.timestamp)}`)), button('Close the request', close, { icon: 'close', quiet: true }))
    try {
      const logged = await administration.request(wanted)
      if (wanted !== view.record) return
      const { summary } = logged
      const fact = (name, value) => value === undefined || value === '' ? null : h('div', { class: 'fact' }, h('dt', null, name), h('dd', null, value))
      const body = (title, text) => [h('h2', { class: 'group-head' }, title, text !== undefined && copyButton(text, `Copy the ${title.toLowerCase()}`)), text === undefined ? h('p', { class: 'note' }, 'No text, or no longer kept.') : h('pre', { class: 'code', tabindex: 0 }, pretty(text))]
      fill(panel, head(summary),
        h('div', { class: 'panel-body', tabindex: 0, role: 'group', 'aria-label': 'The request' },
          h('dl', { class: 'facts' }, fact('Status', h('span', { class: `badge ${isFailed(summary) ? 'bad' : 'good'}` }, summary.status ?? 'the connection broke')), fact('Identity', who(summary.identity)), fact('Path', h('code', null, summary.path)), fact('Time', `${summary.milliseconds.toFixed(2)} ms`), fact('Size', `${summary.requestBytes === undefined ? '?' : size(summary.requestBytes)} asked, ${summary.replyBytes === undefined ? '?' : size(summary.replyBytes)} answered`), fact('Fault', summary.fault), fact('Request UUID', summary.requestUUID && h('code', null, summary.requestUUID))),
          logged.refusals.map(refusal => reasonView(refusal, summary)),
          tabbed('The request', {
            Bodies: () => [body('Request', logged.requestBody), body('Reply', logged.replyBody), !logged.isComplete && h('p', { class: 'note' }, 'The bodies are not kept as a whole.')],
            curl: () => codeView(curlOf(logged)), Swift: () => codeView(swiftOfRequest(logged)), JSON: () => codeView(JSON.stringify(logged, null, 2)),
          })),
        h('footer', null, summary.path.startsWith('/database/') && !session.readOnly && button('Send again', async () => {
          try { const reply = await administration.replay(summary.number); say(`Answered ${reply.summary.status}.`); show({ record: String(reply.summary.number) }, true) } catch (error) { say(error.message, { kind: 'bad' }) }
        }, { icon: 'play', kind: 'primary', title: 'Sends the same request as the same caller' }), typeLink(logged)))
    } catch (error) { fill(panel, head(undefined), h('div', { class: 'panel-body' }, refusalView(error, { title: 'Not shown' }))) }
  }

  /** @param {any} refusal @param {AnsweredRequest} summary */
  function reasonView(refusal, summary) {
    const remedies = refusal.remedies.flatMap(remedy => remedyOf(remedy, { reason: refusal.reason, code: refusal.serverErrorCode }, {}))
    return h('div', { class: `refusal ${refusal.serverErrorCode ? '' : 'mild'}` }, h('div', { class: 'refusal-head' }, icon('warning'), h('strong', null, refusal.serverErrorCode ? 'Why not' : 'Worth knowing'), refusal.serverErrorCode && h('code', { class: 'code' }, refusal.serverErrorCode), refusal.item && h('code', null, refusal.item)), h('p', { class: 'reason' }, refusal.reason),
      refusal.rules.map(rule => h('div', { class: 'rule' }, h('code', null, rule.id), h('p', null, rule.sentence), rule.evidence.map(line => h('p', { class: 'note' }, line)))),
      remedies.length > 0 && summary.path.includes(view.container) && h('div', { class: 'remedies' }, remedies.map(remedy => button(remedy.text, async () => { try { await remedy.act() } catch (error) { say(error.message, { kind: 'bad' }) } }, { icon: remedy.icon, kind: 'named' }))))
  }

  /** @param {any} logged */
  function typeLink({ summary, requestBody }) {
    const [, , , container, environment, scope] = summary.path.split('/')
    try {
      const type = JSON.parse(requestBody).query?.recordType
      return type && h('a', { class: 'button', href: addressOf({ section: 'records', item: type, container: decodeURIComponent(container), environment, scope, zone: '' }) }, icon('records'), h('span', null, type))
    } catch { return null }
  }

  async function read() {
    const reply = await administration.requests()
    all = reply.requests; total = reply.total
    drawBar(); draw()
  }
  let frame = 0
  whileShown('request', element, request => {
    total = Math.max(total, request.number)
    if (isPaused) { missed.push(request); return }
    all.unshift(request)
    if (all.length > 5000) all.length = 5000
    frame ||= setTimeout(() => { frame = 0; drawBar(); draw() }, 200)
  })
  await read()
  queueMicrotask(drawPanel)
  return {
    element,
    update(now, old) {
      if (now.section !== old.section) return false
      if (String(now.filter) !== String(old.filter)) drawBar()
      if (now.record !== old.record) drawPanel()
      draw()
      return true
    },
    commands: () => [{ text: 'Charts of requests', keys: 'c', act: () => toggle.click() }, { text: 'Pause the log', keys: 'p', act: () => pause.click() }, { text: 'To the table', keys: 't', act: () => table.focus() }],
  }
}
