// Elements without markup: every text becomes a text node, so names of records, users and containers can never become elements.

/** @typedef {Node | string | number | null | undefined | false | any[]} Child */

const svgNamespace = 'http://www.w3.org/2000/svg'

/**
 * Sets an attribute, a property or a listener (`onclick`).
 * @param {Element} element @param {string} name @param {any} value
 */
function set(element, name, value) {
  if (value === undefined || value === null || value === false) return
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
  else if (name === 'value' || name === 'checked' || name === 'indeterminate' || name === 'selected') element[name] = value
  else element.setAttribute(name, value === true ? '' : String(value))
}

/**
 * Makes an element with attributes, listeners and children.
 * @param {string} tag @param {Record<string, any> | null} [attributes] @param {...Child} children
 * @returns {any}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag)
  const { value, ...others } = attributes ?? {}
  for (const name in others) set(element, name, others[name])
  append(element, children)
  // The value of a select exists only with its options.
  if (value !== undefined) set(element, 'value', value)
  return element
}

/**
 * Makes an element of SVG.
 * @param {string} tag @param {Record<string, any> | null} [attributes] @param {...Child} children
 * @returns {any}
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(svgNamespace, tag)
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value)
  append(element, children)
  return element
}

/** @param {Element | DocumentFragment} element @param {Child} children */
export function append(element, children) {
  for (const child of /** @type {any[]} */ (children)) {
    if (Array.isArray(child)) append(element, child)
    else if (child instanceof Node) element.append(child)
    else if (child !== null && child !== undefined && child !== false) element.append(String(child))
  }
  return element
}

/**
 * What a person calls a control.
 * @param {Element} element
 */
const nameOf = element => element.tagName + (element.getAttribute('aria-label') ?? element.textContent)

/**
 * Replaces the children of an element. A control that had the focus has it again, if there is one of its name.
 * @param {Element} element @param {...Child} children
 */
export function fill(element, ...children) {
  const focused = document.activeElement
  const name = focused && focused !== element && element.contains(focused) ? nameOf(focused) : undefined
  element.replaceChildren()
  append(element, children)
  if (name) /** @type {any} */ ([...element.querySelectorAll('button, a, input, select, textarea')].find(control => nameOf(control) === name))?.focus({ preventScroll: true })
  return element
}

/**
 * The outlines of the icons, on a square of 16.
 * @type {Record<string, string>}
 */
const icons = {
  records: 'M2 3.5h12v9H2zM2 6.5h12M6 6.5v6',
  schema: 'M3 2.5h4v3H3zM9 10.5h4v3H9zM3 10.5h4v3H3zM5 5.5v5M7 12h2',
  zones: 'M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  shares: 'M12 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM4 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12 14.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5.800 7l4.400-2.500M5.800 9l4.400 2.500',
  subscriptions: 'M8 2a4 4 0 0 0-4 4v3l-1.500 2.500h11L12 9V6a4 4 0 0 0-4-4zM6.500 13.500h3',
  people: 'M6 7.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M11 3a2.500 2.500 0 0 1 0 4.500M12 9.800c1.500.5 2.500 1.800 2.500 3.700',
  requests: 'M2 5h10M9 2l3 3-3 3M14 11H4M7 8l-3 3 3 3',
  faults: 'M8.500 1.500L3 9h4.500l-1 5.500L13 7H8z',
  snapshots: 'M2 5h2.500L6 3h4l1.500 2H14v8H2zM8 11.200a2.200 2.200 0 1 0 0-4.400 2.200 2.200 0 0 0 0 4.400z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.800 10.800L14 14',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  plus: 'M8 3v10M3 8h10',
  more: 'M2.500 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0M7.500 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0M12.500 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0',
  filter: 'M2 3.500h12L9.500 9v4.500l-3-1.500V9z',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  chevron: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4L6 8l4 4',
  trash: 'M2.500 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4M6.700 6.500v4.500M9.300 6.500v4.500',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  download: 'M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11',
  upload: 'M8 10.500v-8M4.500 6L8 2.500 11.500 6M2.500 13.500h11',
  refresh: 'M13.500 8a5.500 5.500 0 1 1-1.600-3.900M13.500 2v3h-3',
  code: 'M5.500 4L1.500 8l4 4M10.500 4l4 4-4 4',
  link: 'M6.500 9.500l3-3M5 8l-1.500 1.500a2.100 2.100 0 0 0 3 3L8 11M8 5l1.500-1.500a2.100 2.100 0 0 1 3 3L11 8',
  undo: 'M6 3L2.500 6.500 6 10M2.500 6.500H10a3.500 3.500 0 0 1 0 7H7',
  person: 'M8 7.500a2.800 2.800 0 1 0 0-5.500 2.800 2.800 0 0 0 0 5.500zM2.500 14c0-3 2.500-4.500 5.500-4.500s5.500 1.500 5.500 4.500',
  play: 'M4.500 2.500l8 5.500-8 5.500z',
  stop: 'M3.500 3.500h9v9h-9z',
  pause: 'M5 3v10M11 3v10',
  check: 'M3 8.500l3.500 3.500L13 4.500',
  warning: 'M8 2l6.500 11.500h-13zM8 6.500v3.500M8 12h.01',
  edit: 'M2.500 13.500l.8-3.300L11 2.500l2.500 2.500-7.700 7.700zM9.500 4L12 6.500',
  keyboard: 'M1.500 4h13v8h-13zM4 6.500h.01M6.700 6.500h.01M9.300 6.500h.01M12 6.500h.01M5 9.500h6',
}

/**
 * An icon beside a text that says the same, so it has no name of its own.
 * @param {string} name
 */
export function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: icons[name] ?? icons.more }))
}

/**
 * A button with an icon, a text, or both.
 * @param {string} text @param {(event: Event) => void} act
 * @param {{ icon?: string, kind?: string, title?: string, quiet?: boolean, disabled?: boolean, [name: string]: any }} [options]
 */
export function button(text, act, options = {}) {
  const { icon: name, kind, title, quiet, ...others } = options
  return h(
    'button',
    { type: 'button', class: ['button', kind, quiet && 'bare'].filter(Boolean).join(' '), 'aria-label': quiet ? text : undefined, title: title ?? (quiet ? text : undefined), onclick: act, ...others },
    name && icon(name), !quiet && h('span', null, text))
}

/**
 * A select with a visible label.
 * @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} choose
 */
export function choice(label, options, value, choose, attributes = {}) {
  const select = h('select', { ...attributes, onchange: () => choose(select.value) },
    options.map(([key, text]) => h('option', { value: key, selected: key === value }, text)))
  select.value = value
  return h('label', { class: 'choice' }, h('span', { class: 'label' }, label), select)
}

let numbers = 0
/**
 * An identifier that no other element has.
 * @param {string} prefix
 */
export const identifier = prefix => `${prefix}-${++numbers}`

/**
 * Calls an action when nothing was asked for a while.
 * @param {number} milliseconds @param {(...values: any[]) => void} act
 */
export function afterwards(milliseconds, act) {
  let timer = 0
  return (...values) => {
    clearTimeout(timer)
    timer = setTimeout(() => act(...values), milliseconds)
  }
}

/**
 * Saves a text or bytes as a file of the reader.
 * @param {string} name @param {BlobPart[] | Blob} parts @param {string} [type]
 */
export function saveFile(name, parts, type = 'text/plain') {
  const blob = parts instanceof Blob ? parts : new Blob(parts, { type })
  const url = URL.createObjectURL(blob)
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

/**
 * Asks for a file.
 * @param {string} accept @returns {Promise<File | undefined>}
 */
export function askForFile(accept) {
  return new Promise(resolve => {
    const input = h('input', { type: 'file', accept, 'aria-label': 'File', class: 'hidden-file', onchange: () => { input.remove(); resolve(input.files[0]) }, oncancel: () => { input.remove(); resolve(undefined) } })
    document.body.append(input)
    input.click()
  })
}

/**
 * Copies a text and says so.
 * @param {string} text @param {Element} near
 */
export async function copy(text, near) {
  await navigator.clipboard.writeText(text)
  near.classList.add('copied')
  setTimeout(() => near.classList.remove('copied'), 1200)
}

/** @param {string} text @param {string} [name] */
export function copyButton(text, name = 'Copy') {
  const element = button(name, () => copy(text, element), { icon: 'copy', quiet: true })
  return element
}
