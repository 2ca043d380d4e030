// The bar of conditions: typed as for the command, or built by clicking.

import { show, view } from './address.js'
import { button, fill, h, icon } from './dom.js'
import { openPopover } from './dialogs.js'
import { comparatorsFor, filterOf, readCondition, systemFields, writeCondition } from './comparators.js'
import { elementType } from './values.js'

/**
 * @param {{ fields: () => { name: string, type: string }[], typeOf: (field: string) => string | undefined }} hooks
 */
export function filterBar(hooks) {
  const element = h('div', { class: 'filter-bar', role: 'group', 'aria-label': 'Filters' })
  const problem = h('p', { class: 'problem-text', role: 'alert' })
  const hints = h('datalist', { id: 'filter-hints' })
  const typed = h('input', { class: 'typed', list: 'filter-hints', 'aria-label': 'Type a filter', placeholder: 'Type a filter:  rating > 3', spellcheck: 'false', autocomplete: 'off',
    onkeydown: event => { if (event.key === 'Enter') { event.preventDefault(); take(typed.value) } else if (event.key === 'Backspace' && !typed.value && view.filter.length) show({ filter: view.filter.slice(0, -1) }) },
    oninput: () => { typed.removeAttribute('aria-invalid'); problem.textContent = '' } })

  /** @param {string} text @param {number} [replaced] */
  function take(text, replaced) {
    if (!text.trim()) return false
    try {
      const condition = readCondition(text)
      filterOf(condition, hooks.typeOf)
      const written = writeCondition(condition)
      typed.value = ''
      show({ filter: replaced === undefined ? [...view.filter, written] : view.filter.map((old, index) => index === replaced ? written : old) })
      return true
    } catch (error) {
      typed.setAttribute('aria-invalid', 'true')
      problem.textContent = error.message
      return false
    }
  }

  /** @param {Element} anchor @param {number} [replaced] */
  function build(anchor, replaced) {
    const old = replaced === undefined ? undefined : readCondition(view.filter[replaced])
    const fields = [...hooks.fields(), ...Object.entries(systemFields).map(([name, field]) => ({ name, type: field.type }))]
    const complaint = h('p', { class: 'problem-text', role: 'alert' })
    openPopover(anchor, close => {
      const field = h('select', { 'aria-label': 'Field', onchange: () => drawComparators() }, fields.filter(field => comparatorsFor(field.type).length).map(field => h('option', { value: field.name, selected: field.name === old?.field }, `${field.name}  ·  ${field.type}`)))
      const comparator = h('select', { 'aria-label': 'Comparator', onchange: () => drawValue() })
      const value = h('div', { class: 'form' })
      const typeOf = () => fields.find(known => known.name === field.value)?.type ?? 'STRING'
      const chosen = () => comparatorsFor(typeOf()).find(known => known.name === comparator.value)
      const drawComparators = () => {
        fill(comparator, comparatorsFor(typeOf()).map(known => h('option', { value: known.name, selected: known.name === old?.comparator.name }, `${known.words}${known.sign ? `  ${known.sign}` : ''}`)))
        drawValue()
      }
      const drawValue = () => {
        const operand = chosen()?.operand, type = elementType(typeOf()), [first, second] = (old?.value ?? '').split(/\s+within\s+/)
        if (operand === 'area') fill(value, h('input', { name: 'value', 'aria-label': 'Latitude, longitude', placeholder: 'latitude, longitude', value: first }), h('input', { name: 'metres', 'aria-label': 'Metres', inputmode: 'decimal', placeholder: 'within metres', value: second ?? '' }))
        else if (operand === 'value' && type === 'TIMESTAMP') fill(value, h('input', { name: 'value', 'aria-label': 'Value', placeholder: '2026-01-31T12:00:00Z', value: old?.value ?? '' }))
        else fill(value, h('input', { name: 'value', 'aria-label': 'Value', placeholder: operand === 'values' || operand === 'elements' ? 'values, between commas' : operand === 'words' ? 'words' : type.toLowerCase(), value: old?.value ?? '' }))
      }
      const form = h('form', {
        class: 'form', onsubmit: event => {
          event.preventDefault()
          const text = value.querySelector('[name=value]').value, metres = value.querySelector('[name=metres]')?.value
          const isText = elementType(typeOf()) === 'STRING' && ['value', 'text', 'words'].includes(chosen()?.operand ?? '') && (/^\s|\s$|^$|^-?\d+(\.\d+)?$/.test(text))
          const condition = { field: field.value, comparator: /** @type {any} */ (chosen()), value: metres === undefined ? text : `${text.replace(/\s/g, '')} within ${metres}`, quoted: isText }
          try { filterOf(condition, hooks.typeOf) } catch (error) { complaint.textContent = error.message; return }
          close()
          take(writeCondition(condition), replaced)
        },
      }, field, comparator, value, complaint, h('div', { class: 'form-actions' }, h('span', { class: 'space' }), h('button', { type: 'submit', class: 'button primary' }, replaced === undefined ? 'Add' : 'Change')))
      drawComparators()
      return form
    }, { label: 'Filter', kind: 'padded' })
  }

  let drawn = ''
  function draw() {
    // What has not changed stays, with the focus that it may have.
    const state = JSON.stringify([view.filter, hooks.fields()])
    if (state === drawn) return
    drawn = state
    fill(hints, hooks.fields().flatMap(field => comparatorsFor(field.type).slice(0, 2).map(known => h('option', { value: `${field.name} ${known.sign ?? known.name} ` }))))
    const hadFocus = document.activeElement === typed
    fill(element,
      view.filter.map((text, index) => {
        const chip = h('span', { class: 'chip' }, h('button', { type: 'button', title: 'Change this filter', onclick: event => build(event.currentTarget, index) }, text),
          h('button', { type: 'button', 'aria-label': `Remove ${text}`, title: 'Remove', onclick: () => show({ filter: view.filter.filter((_, other) => other !== index) }) }, icon('close')))
        return chip
      }),
      button('Filter', event => build(/** @type {Element} */ (event.currentTarget)), { icon: 'plus', kind: 'named', 'aria-haspopup': 'dialog' }), typed, hints, problem)
    if (hadFocus) typed.focus()
  }
  draw()
  return { element, draw, focus: () => typed.focus() }
}
