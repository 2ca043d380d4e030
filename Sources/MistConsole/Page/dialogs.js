// Dialogs, menus and messages. All are the browser's own: it keeps the focus inside, and Escape closes.

import { append, button, copyButton, fill, h, icon, identifier } from './dom.js'

/**
 * Opens a dialog and waits for its end.
 * @template T
 * @param {string} title
 * @param {(close: (result?: T) => void, dialog: any) => import('./dom.js').Child} content
 * @param {{ kind?: string, actions?: (close: (result?: T) => void) => import('./dom.js').Child }} [options]
 * @returns {Promise<T | undefined>}
 */
export function openDialog(title, content, options = {}) {
  return new Promise(resolve => {
    let result
    const heading = identifier('dialog')
    const element = h('dialog', { class: `dialog ${options.kind ?? ''}`, 'aria-labelledby': heading, onclose: () => { element.remove(); resolve(result) }, onclick: event => { if (event.target === element && options.kind !== 'form') element.close() } })
    const close = value => { result = value; element.close() }
    // The section makes the contents part of a landmark.
    append(element, [h('section', { 'aria-labelledby': heading },
      h('div', { class: 'dialog-head' }, h('h2', { id: heading }, title), button('Close', () => element.close(), { icon: 'close', quiet: true })),
      h('div', { class: 'dialog-content' }, content(close, element)),
      options.actions && h('div', { class: 'dialog-foot' }, options.actions(close)))])
    document.body.append(element)
    element.showModal()
    const first = element.querySelector('[autofocus], .dialog-content input, .dialog-content select, .dialog-content textarea, .dialog-foot .primary')
    first?.focus()
  })
}

/**
 * Asks before something is done.
 * @param {string} title @param {import('./dom.js').Child} text @param {string} verb @param {{ kind?: string }} [options]
 */
export const ask = (title, text, verb, options = {}) => openDialog(title, () => h('div', { class: 'prose' }, text), {
  actions: close => [button('Cancel', () => close(false)), button(verb, () => close(true), { kind: options.kind ?? 'primary', autofocus: true })],
})

/**
 * A form in a dialog. The action gets the values and may throw; its error is shown in the dialog.
 * @param {string} title
 * @param {import('./dom.js').Child} fields
 * @param {string} verb
 * @param {(data: FormData) => any} act
 * @param {import('./dom.js').Child} [more]
 */
export function askForm(title, fields, verb, act, more) {
  const problem = h('div', { class: 'problem-slot', role: 'alert' })
  return openDialog(title, close => {
    const form = h('form', {
      class: 'form', onsubmit: async event => {
        event.preventDefault()
        const submit = form.querySelector('[type=submit]')
        submit.disabled = true
        try { close((await act(new FormData(form))) ?? true) } catch (error) { fill(problem, h('p', { class: 'problem-text' }, error.message)) }
        submit.disabled = false
      },
    }, fields, problem, h('div', { class: 'form-actions' }, more, h('span', { class: 'space' }), button('Cancel', () => close(undefined)), h('button', { type: 'submit', class: 'button primary' }, verb)))
    return form
  }, { kind: 'form' })
}

/**
 * A labelled control of a form.
 * @param {string} label @param {any} control @param {string} [hint]
 */
export function labelled(label, control, hint) {
  return h('label', { class: 'labelled' }, h('span', { class: 'label' }, label), control, hint && h('span', { class: 'hint' }, hint))
}

/**
 * A menu or a panel below a control.
 * @param {Element} anchor @param {(close: () => void) => import('./dom.js').Child} content @param {{ label: string, role?: string, kind?: string }} options
 */
export function openPopover(anchor, content, options) {
  const isMenu = options.role === 'menu'
  const element = h('div', { popover: 'auto', class: `popover ${options.kind ?? ''}`, role: options.role ?? 'dialog', 'aria-label': options.label, ontoggle: event => { if (event.newState === 'closed') { element.remove(); anchor.setAttribute('aria-expanded', 'false') } } })
  const close = () => { element.hidePopover(); /** @type {any} */ (anchor).focus?.() }
  append(element, [content(close)])
  // Inside a modal dialog, only what it contains can be used.
  ;(anchor.closest('dialog') ?? document.body).append(element)
  element.showPopover()
  anchor.setAttribute('aria-expanded', 'true')
  const box = anchor.getBoundingClientRect(), width = element.offsetWidth, height = element.offsetHeight
  element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - width - 8))}px`
  element.style.top = `${box.bottom + 4 + height > innerHeight - 8 ? Math.max(8, box.top - height - 4) : box.bottom + 4}px`
  const items = () => [...element.querySelectorAll('[role=menuitem], [role=menuitemradio]')]
  if (isMenu) {
    element.addEventListener('keydown', event => {
      const all = items(), at = all.indexOf(document.activeElement)
      const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key]
      if (to === undefined) return
      event.preventDefault()
      all[to].focus()
    })
  }
  const first = isMenu ? element.querySelector('[aria-checked=true]') ?? items()[0] : element.querySelector('input, select, button, textarea')
  first?.focus()
  return { element, close }
}

/**
 * @param {Element} anchor @param {string} label
 * @param {({ text: string, icon?: string, note?: string, kind?: string, checked?: boolean, act: () => void } | 'line' | false)[]} items
 */
export function openMenu(anchor, label, items) {
  return openPopover(anchor, close => items.map(item => item === 'line' ? h('hr') : item && h('button', {
    type: 'button', class: `menu-item ${item.kind ?? ''}`, role: item.checked === undefined ? 'menuitem' : 'menuitemradio', 'aria-checked': item.checked === undefined ? undefined : String(item.checked),
    onclick: () => { close(); item.act() },
  }, item.icon && icon(item.icon), h('span', { class: 'menu-text' }, item.text), item.note && h('span', { class: 'note' }, item.note))), { label, role: 'menu' })
}

/**
 * A button that opens a menu.
 * @param {string} label @param {() => Parameters<typeof openMenu>[2]} items @param {Record<string, any>} [options] Those of a button; three dots without them.
 */
export const menuButton = (label, items, options = { icon: 'more', quiet: true }) =>
  button(label, event => openMenu(/** @type {Element} */ (event.currentTarget), label, items()), { 'aria-haspopup': 'menu', ...options })

/**
 * Several views of one thing, of which one is shown.
 * @param {string} label @param {Record<string, () => import('./dom.js').Child>} views
 */
export function tabbed(label, views) {
  const names = Object.keys(views), slot = h('div', { role: 'tabpanel', 'aria-label': label }), tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Forms' })
  const choose = name => {
    fill(tabs, names.map((other, index) => h('button', {
      type: 'button', role: 'tab', 'aria-selected': String(other === name), tabindex: other === name ? 0 : -1, onclick: () => choose(other),
      onkeydown: event => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
        if (!by) return
        choose(names[(index + by + names.length) % names.length])
        tabs.querySelector('[aria-selected=true]')?.focus()
      },
    }, other)))
    fill(slot, views[name]())
  }
  choose(names[0])
  return [tabs, slot]
}

/**
 * A text to read and to copy.
 * @param {string} text
 */
export const codeView = text => [h('pre', { class: 'code', tabindex: 0 }, text), h('div', { class: 'form-actions' }, h('span', { class: 'space' }), copyButton(text))]

/** The messages at the end of the window. */
const messages = h('div', { class: 'messages', role: 'status', 'aria-live': 'polite' })

/**
 * Says something for some seconds.
 * @param {string} text @param {{ action?: string, act?: () => void, kind?: string, seconds?: number }} [options]
 */
export function say(text, options = {}) {
  if (!messages.isConnected) document.body.append(messages)
  const element = h('div', { class: `message ${options.kind ?? ''}` }, h('span', null, text),
    options.action && button(options.action, () => { element.remove(); options.act?.() }, { kind: 'plain' }),
    button('Dismiss', () => element.remove(), { icon: 'close', quiet: true }))
  messages.append(element)
  while (messages.children.length > 3) messages.firstChild?.remove()
  setTimeout(() => element.remove(), (options.seconds ?? (options.action ? 12 : 5)) * 1000)
  return element
}

/**
 * Long work with a bar that shows how far it is, and a button that stops it.
 * @template T
 * @param {string} title @param {(report: (done: number, total?: number, text?: string) => void, signal: AbortSignal) => Promise<T>} work
 * @param {{ canStop?: boolean }} [options] Work of one request ends by itself.
 * @returns {Promise<T | undefined>} `undefined` where the work was stopped.
 */
export async function withProgress(title, work, options = {}) {
  const control = new AbortController()
  const bar = h('progress', { 'aria-label': title }), text = h('span', { class: 'note' }, '…')
  const box = h('div', { class: 'work', role: 'group', 'aria-label': title }, h('strong', null, title), bar, text, options.canStop !== false && button('Stop', () => control.abort(), { icon: 'stop' }))
  document.body.append(box)
  const report = (done, total, words) => {
    if (total) { bar.max = total; bar.value = Math.min(done, total) }
    text.textContent = words ?? (total ? `${done.toLocaleString()} of ${total.toLocaleString()}` : done.toLocaleString())
  }
  try { return await work(report, control.signal) } catch (error) {
    if (error.name !== 'AbortError') throw error
    say(`${title}: stopped.`)
  } finally { box.remove() }
}
