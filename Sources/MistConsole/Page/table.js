// A table that draws only the rows that are seen, so that 100,000 of them scroll as ten do.

import { fill, h, icon } from './dom.js'

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {number} width In pixels.
 * @property {string} [note] Below the title, such as the field's type.
 * @property {string} [kind] A class of the cells.
 * @property {boolean} [sortable]
 * @property {(row: any) => string} [text]
 * @property {(cell: HTMLElement, row: any) => void} [draw] Instead of `text`.
 */
/**
 * @typedef {object} Options
 * @property {string} label
 * @property {Column[]} columns
 * @property {(row: any) => string} key
 * @property {(row: any) => string} [rowClass]
 * @property {(row: any, index: number) => void} [open]
 * @property {(key: string, add: boolean) => void} [sort]
 * @property {string[]} [sorts] `key` or `-key`
 * @property {(key: string, width: number) => void} [resize]
 * @property {boolean} [selectable]
 * @property {(selected: Set<string>) => void} [select]
 * @property {() => void} [end] More rows are needed.
 */

const rowHeight = 32
let tables = 0

export class VirtualTable extends HTMLElement {
  /** @type {any[]} */ rows = []
  /** @type {Set<string>} */ selected = new Set()
  active = -1
  /** @type {Options} */ options = { label: '', columns: [], key: row => row }
  /** @type {Map<number, any>} */ #drawn = new Map()
  /** @type {any[]} */ #pool = []
  #prefix = `table-${++tables}`
  #frame = 0
  /** @type {any} */ #viewport
  /** @type {any} */ #head
  /** @type {any} */ #body

  /** @param {Options} options */
  configure(options) {
    this.options = options
    if (!this.#viewport) this.#build()
    this.#viewport.setAttribute('aria-label', options.label)
    this.#viewport.setAttribute('aria-colcount', options.columns.length + (options.selectable ? 1 : 0))
    if (options.selectable) this.#viewport.setAttribute('aria-multiselectable', 'true')
    this.#drawHead()
    this.#clear()
    this.update(this.rows)
  }

  /**
   * Shows other rows, or more of them.
   * @param {any[]} rows
   */
  update(rows) {
    this.rows = rows
    if (this.active >= rows.length) this.active = rows.length - 1
    this.#viewport.setAttribute('aria-rowcount', rows.length + 1)
    this.#body.style.height = `${rows.length * rowHeight}px`
    this.#draw(true)
  }

  /** Draws rows again whose contents changed. */
  redraw() { this.#draw(true) }

  /** @param {number} index */
  activate(index, scroll = true) {
    this.active = Math.max(0, Math.min(index, this.rows.length - 1))
    if (scroll) {
      const top = this.active * rowHeight, room = this.#viewport.clientHeight - this.#head.offsetHeight
      if (top < this.#viewport.scrollTop) this.#viewport.scrollTop = top
      else if (top + rowHeight > this.#viewport.scrollTop + room) this.#viewport.scrollTop = top + rowHeight - room
    }
    this.#draw(true)
  }

  focus() { this.#viewport?.focus() }
  get viewport() { return this.#viewport }

  #build() {
    this.#head = h('div', { class: 'table-head', role: 'row', 'aria-rowindex': 1 })
    this.#body = h('div', { class: 'table-body', role: 'rowgroup' })
    this.#viewport = h('div', { class: 'table-viewport', role: 'grid', tabindex: 0, onscroll: () => this.#schedule(), onkeydown: event => this.#key(event) }, h('div', { role: 'rowgroup', class: 'table-heads' }, this.#head), this.#body)
    this.#body.addEventListener('click', event => this.#click(event))
    this.append(this.#viewport)
    new ResizeObserver(() => this.#schedule()).observe(this)
  }

  #widths() {
    const { columns, selectable } = this.options
    this.#viewport.style.setProperty('--columns', [...(selectable ? ['36px'] : []), ...columns.map((column, index) => index === columns.length - 1 ? `minmax(${column.width}px, 1fr)` : `${column.width}px`)].join(' '))
  }

  #drawHead() {
    const { columns, sorts = [], selectable } = this.options
    this.#widths()
    fill(this.#head,
      selectable && h('div', { class: 'cell head select', role: 'columnheader', 'aria-colindex': 1 }, this.#all = h('input', { type: 'checkbox', 'aria-label': 'Select all rows', onchange: () => this.#selectAll(this.#all.checked) })),
      columns.map((column, index) => {
        const direction = sorts.includes(column.key) ? 'ascending' : sorts.includes(`-${column.key}`) ? 'descending' : undefined
        const title = h('span', { class: 'head-title' }, column.title)
        const content = [title, column.note && h('span', { class: 'head-note' }, column.note), direction && icon(direction === 'ascending' ? 'up' : 'down')]
        return h('div', { class: `cell head ${column.kind ?? ''}`, role: 'columnheader', 'aria-sort': direction, 'aria-colindex': index + 1 + (selectable ? 1 : 0) },
          column.sortable
            ? h('button', { type: 'button', class: 'head-button', title: 'Sort; with Shift, in addition. Alt with the arrows changes the width.', onclick: event => this.options.sort?.(column.key, event.shiftKey), onkeydown: event => { if (event.altKey && /Arrow(Left|Right)/.test(event.key)) { event.preventDefault(); event.stopPropagation(); this.#resizeBy(column, event.key === 'ArrowLeft' ? -16 : 16) } } }, content)
            : h('span', { class: 'head-button' }, content),
          h('span', { class: 'resizer', 'aria-hidden': 'true', onpointerdown: event => this.#resize(event, column) }))
      }))
  }
  /** @type {any} */ #all

  /** @param {Column} column @param {number} by */
  #resizeBy(column, by) {
    column.width = Math.max(48, column.width + by)
    this.#widths()
    this.options.resize?.(column.key, column.width)
  }

  /** @param {any} event @param {Column} column */
  #resize(event, column) {
    event.preventDefault()
    const handle = event.target, start = event.clientX, width = column.width
    handle.setPointerCapture(event.pointerId)
    handle.onpointermove = move => { column.width = Math.max(48, width + move.clientX - start); this.#widths() }
    handle.onpointerup = () => { handle.onpointermove = null; this.options.resize?.(column.key, column.width) }
  }

  #schedule() { this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.#draw(false) }) }

  #clear() {
    for (const row of this.#drawn.values()) row.remove()
    this.#drawn.clear()
    this.#pool = []
  }

  /** @param {boolean} again Whether rows that are drawn already may have changed. */
  #draw(again) {
    const viewport = this.#viewport, top = viewport.scrollTop, height = viewport.clientHeight || 600
    const first = Math.max(0, Math.floor(top / rowHeight) - 6), last = Math.min(this.rows.length - 1, Math.ceil((top + height) / rowHeight) + 6)
    for (const [index, row] of this.#drawn) {
      if (index < first || index > last) { this.#drawn.delete(index); this.#pool.push(row); row.hidden = true }
    }
    for (let index = first; index <= last; index++) {
      let row = this.#drawn.get(index)
      const isNew = !row
      if (!row) {
        row = this.#pool.pop() ?? this.#makeRow()
        row.hidden = false
        this.#drawn.set(index, row)
      }
      if (isNew || again) this.#fillRow(row, index)
    }
    const isSeen = this.active >= first && this.active <= last
    if (isSeen) viewport.setAttribute('aria-activedescendant', `${this.#prefix}-${this.active}`)
    else viewport.removeAttribute('aria-activedescendant')
    if (this.#all) {
      this.#all.checked = this.rows.length > 0 && this.selected.size >= this.rows.length
      this.#all.indeterminate = this.selected.size > 0 && !this.#all.checked
    }
    if (this.options.end && last >= this.rows.length - 40) this.options.end()
  }

  #makeRow() {
    const { columns, selectable } = this.options
    const row = h('div', { class: 'row', role: 'row' })
    if (selectable) row.append(h('div', { class: 'cell select', role: 'gridcell', 'aria-colindex': 1 }, h('input', { type: 'checkbox', tabindex: -1, 'aria-label': 'Select this row' })))
    columns.forEach((column, index) => row.append(h('div', { class: `cell ${column.kind ?? ''}`, role: 'gridcell', 'aria-colindex': index + 1 + (selectable ? 1 : 0) })))
    this.#body.append(row)
    return row
  }

  /** @param {any} row @param {number} index */
  #fillRow(row, index) {
    const item = this.rows[index], { columns, selectable, rowClass, key } = this.options
    row.id = `${this.#prefix}-${index}`
    row.dataset.index = index
    row.setAttribute('aria-rowindex', index + 2)
    row.style.transform = `translateY(${index * rowHeight}px)`
    const isSelected = this.selected.has(key(item))
    row.className = `row ${index === this.active ? 'active' : ''} ${isSelected ? 'selected' : ''} ${rowClass?.(item) ?? ''}`
    if (selectable) {
      row.setAttribute('aria-selected', String(isSelected))
      row.firstChild.firstChild.checked = isSelected
    }
    columns.forEach((column, position) => {
      const cell = row.children[position + (selectable ? 1 : 0)]
      if (column.draw) { cell.replaceChildren(); column.draw(cell, item) }
      else {
        const text = column.text ? column.text(item) : String(item[column.key] ?? '')
        if (cell.textContent !== text) cell.textContent = text
      }
    })
  }

  /** @param {any} event */
  #click(event) {
    const row = event.target.closest('.row')
    if (!row) return
    const index = Number(row.dataset.index)
    if (event.target.closest('.select')) { this.#toggle(index, event.shiftKey); return }
    if (event.target.closest('button, a')) return
    this.activate(index, false)
    if (event.metaKey || event.ctrlKey) this.#toggle(index, false)
    else this.options.open?.(this.rows[index], index)
  }

  #last = 0
  /** @param {number} index @param {boolean} extend */
  #toggle(index, extend) {
    if (!this.options.selectable) return
    const key = this.options.key(this.rows[index]), on = !this.selected.has(key)
    const [from, to] = extend ? [Math.min(this.#last, index), Math.max(this.#last, index)] : [index, index]
    for (let at = from; at <= to; at++) {
      const name = this.options.key(this.rows[at])
      if (on || extend) this.selected.add(name)
      else this.selected.delete(name)
    }
    this.#last = index
    this.activate(index, false)
    this.options.select?.(this.selected)
  }

  /** @param {boolean} on */
  #selectAll(on) {
    this.selected = new Set(on ? this.rows.map(this.options.key) : [])
    this.#draw(true)
    this.options.select?.(this.selected)
  }

  /** @param {any} event */
  #key(event) {
    if (event.target !== this.#viewport) return
    const page = Math.max(1, Math.floor(this.#viewport.clientHeight / rowHeight) - 2)
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.rows.length - 1 }[event.key]
    if (to !== undefined && !event.altKey && !event.metaKey) {
      event.preventDefault()
      if (event.shiftKey && this.options.selectable && this.rows.length) { this.#last = Math.max(0, this.active); const index = Math.max(0, Math.min(to, this.rows.length - 1)); this.#toggle(index, true); this.activate(index) }
      else this.activate(to)
    } else if (event.key === 'Enter' && this.rows[this.active]) {
      event.preventDefault()
      this.options.open?.(this.rows[this.active], this.active)
    } else if (event.key === ' ' && this.rows[this.active]) {
      event.preventDefault()
      this.#toggle(this.active, false)
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey) && this.options.selectable) {
      event.preventDefault()
      this.#selectAll(true)
    } else if (event.key === 'Escape' && this.selected.size) this.#selectAll(false)
  }
}
customElements.define('virtual-table', VirtualTable)
