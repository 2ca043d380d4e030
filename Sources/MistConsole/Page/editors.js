// The controls with which a field is edited, by type.

import { askForFile, button, fill, h, identifier } from './dom.js'
import { drawMap } from './map.js'
import { base64Of, elementType, guess, hex, isList, readElement, readerZone, safeBytes, size, utcDate, writeElement } from './values.js'

/** @typedef {import('./service.js').Field} Field */
/**
 * @typedef {object} Editor
 * @property {Element} element
 * @property {() => any} read The value; `null` for none. @throws {TypeError}
 */

/** A file that is uploaded when the record is saved. */
export class PendingFile { /** @param {File} file */ constructor(file) { this.file = file } }

/**
 * A time as the browser's control has it, in the reader's zone.
 * @param {number} time
 */
function localText(time) {
  const date = new Date(time), two = (number, length = 2) => String(number).padStart(length, '0')
  return `${two(date.getFullYear(), 4)}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`
}

/**
 * @param {string} type Of an element. @param {any} value @param {string} label
 * @returns {Editor}
 */
function elementEditor(type, value, label) {
  const name = { 'aria-label': label }
  switch (type) {
    case 'TIMESTAMP': {
      const utc = h('span', { class: 'note' })
      const input = h('input', { ...name, type: 'datetime-local', step: '0.001', value: value === null ? '' : localText(Number(value)), oninput: () => show() })
      const show = () => { utc.textContent = input.value ? `${utcDate(new Date(input.value).getTime())} · the control is in ${readerZone}` : `in ${readerZone}` }
      show()
      return {
        element: h('div', null, h('div', { class: 'edit-row' }, input, button('Now', () => { input.value = localText(Date.now()); input.dispatchEvent(new Event('input', { bubbles: true })) })), utc),
        read: () => input.value ? new Date(input.value).getTime() : null,
      }
    }
    case 'BYTES': {
      const about = h('span', { class: 'note' })
      const input = h('textarea', { ...name, class: 'mono', rows: 3, spellcheck: 'false', value: value ?? '', placeholder: 'base64, or pairs of hexadecimal digits', oninput: () => show() })
      const show = () => { const bytes = safeBytes(input.value.trim()); about.textContent = bytes?.length ? `${size(bytes.length)}, ${guess(bytes).name}: ${hex(bytes, 8)}${bytes.length > 8 ? ' …' : ''}` : '' }
      show()
      return {
        element: h('div', null, input, h('div', { class: 'edit-row' }, button('From a file', async () => { const file = await askForFile(''); if (file) { input.value = base64Of(new Uint8Array(await file.arrayBuffer())); input.dispatchEvent(new Event('input', { bubbles: true })) } }, { icon: 'upload' }), about)),
        read: () => input.value.trim() ? readElement(input.value, type) : null,
      }
    }
    case 'REFERENCE': {
      const input = h('input', { ...name, class: 'mono', value: value?.recordName ?? '', placeholder: 'record name', spellcheck: 'false' })
      const action = h('select', { 'aria-label': `${label}: what happens when the other record is deleted` }, [['NONE', 'nothing'], ['DELETE_SELF', 'delete this'], ['VALIDATE', 'must exist']].map(([key, text]) => h('option', { value: key, title: key, selected: key === (value?.action ?? 'NONE') }, text)))
      return {
        element: h('div', { class: 'edit-row' }, input, action),
        read: () => input.value.trim() ? { ...readElement(input.value, type), action: action.value, ...(value?.zoneID && value.recordName === input.value.trim() ? { zoneID: value.zoneID } : {}) } : null,
      }
    }
    case 'LOCATION': {
      const preview = h('div')
      const part = (title, text) => h('input', { 'aria-label': `${label}: ${title}`, inputmode: 'decimal', placeholder: title, value: text, oninput: () => show() })
      const latitude = part('latitude', value ? String(value.latitude) : ''), longitude = part('longitude', value ? String(value.longitude) : '')
      const read = () => latitude.value.trim() || longitude.value.trim() ? { ...value, ...readElement(`${latitude.value}, ${longitude.value}`, type) } : null
      const show = () => { try { const place = read(); fill(preview, place && drawMap([place])) } catch { fill(preview) } }
      show()
      return { element: h('div', null, h('div', { class: 'edit-row' }, latitude, longitude), preview), read }
    }
    case 'ASSETID': {
      /** @type {any} */
      let current = value
      const text = h('span')
      const show = () => { text.textContent = current instanceof PendingFile ? `${current.file.name}, ${size(current.file.size)}: is uploaded when you save` : current ? `${size(current.size)}, checksum ${current.fileChecksum}` : 'Drop a file here' }
      const take = file => { if (file) { current = new PendingFile(file); show(); zone.dispatchEvent(new Event('input', { bubbles: true })) } }
      const zone = h('div', { class: 'drop', role: 'group', 'aria-label': label,
        ondragover: event => { event.preventDefault(); zone.classList.add('over') }, ondragleave: () => zone.classList.remove('over'),
        ondrop: event => { event.preventDefault(); zone.classList.remove('over'); take(event.dataTransfer.files[0]) },
      }, text, button('Choose a file', async () => take(await askForFile('')), { icon: 'upload', kind: 'named' }))
      show()
      return { element: zone, read: () => current ?? null }
    }
    case 'INT64': case 'DOUBLE': {
      const input = h('input', { ...name, inputmode: type === 'INT64' ? 'numeric' : 'decimal', class: 'mono', value: writeElement(value, type) })
      return { element: input, read: () => input.value.trim() ? readElement(input.value, type) : null }
    }
    default: {
      const text = value ?? ''
      const input = h('textarea', { ...name, rows: Math.min(8, Math.max(1, String(text).split('\n').length, Math.ceil(String(text).length / 44))), value: text })
      let isTouched = value !== null
      input.addEventListener('input', () => { isTouched = true })
      return { element: input, read: () => isTouched ? input.value : null }
    }
  }
}

/** @param {string} type @param {any} value @param {string} label @returns {Editor} */
function listEditor(type, value, label) {
  const list = h('div', { class: 'items' }), element = elementType(type)
  /** @type {Editor[]} */
  let editors = []
  let isNull = value === null
  const add = item => {
    isNull = false
    const editor = elementEditor(element, item, `${label}, item ${editors.length + 1}`)
    const row = h('div', { class: 'element' }, editor.element, button(`Remove item ${editors.length + 1} of ${label}`, () => { editors = editors.filter(other => other !== editor); row.remove(); list.dispatchEvent(new Event('input', { bubbles: true })) }, { icon: 'close', quiet: true }))
    editors.push(editor)
    list.append(row)
    return row
  }
  for (const item of value ?? []) add(item)
  return {
    element: h('div', null, list, button('Add an item', () => { const row = add(null); row.querySelector('input, textarea')?.focus(); list.dispatchEvent(new Event('input', { bubbles: true })) }, { icon: 'plus', kind: 'plain named' })),
    read: () => isNull && !editors.length ? null : editors.map(editor => editor.read()).filter(item => item !== null),
  }
}

/**
 * The controls of a field.
 * @param {string} name @param {string} type As in the protocol. @param {Field | undefined} field @param {{ isEncrypted?: boolean, note?: string }} [options]
 */
export function fieldEditor(name, type, field, options = {}) {
  const problem = h('div', { role: 'alert', class: 'problem-text', id: identifier('problem') })
  const body = h('div')
  /** @type {Editor} */
  let editor
  const make = value => { editor = isList(type) ? listEditor(type, value, name) : elementEditor(elementType(type), value, name); fill(body, editor.element) }
  make(field?.value ?? null)
  const element = h('div', { class: 'field', 'data-field': name },
    h('div', { class: 'name' }, name, h('span', { class: 'type' }, type + (options.isEncrypted ? ', encrypted' : '')), h('span', { class: 'space' }),
      button(`Clear ${name}`, () => { make(null); element.dispatchEvent(new Event('input', { bubbles: true })) }, { icon: 'close', quiet: true })),
    body, problem)
  const initial = field?.value ?? null
  return {
    name, type, element, initial,
    /** The field as a request has it, or `undefined` where it has not changed. */
    read() {
      problem.textContent = ''
      try {
        const value = editor.read()
        return { value, type: value === null ? undefined : type, ...(options.isEncrypted ? { isEncrypted: true, type } : {}) }
      } catch (error) {
        problem.textContent = error.message
        body.querySelector('input, textarea')?.focus()
        throw error
      }
    },
    /** @param {string} text */
    complain(text) { problem.textContent = text },
  }
}

