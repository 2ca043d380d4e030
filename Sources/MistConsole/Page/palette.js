// Everything by keyboard: a palette of commands, single keys, and `?` which lists them.

import { fill, h, icon } from './dom.js'
import { openDialog } from './dialogs.js'

/** @typedef {{ text: string, keys?: string, note?: string, icon?: string, act: () => any }} Command */

/** @type {() => Command[]} */
let commands = () => []

/** @param {() => Command[]} all */
export function listenForKeys(all) {
  commands = all
  let first = ''
  addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') { event.preventDefault(); openPalette(); return }
    const target = /** @type {any} */ (event.target)
    if (document.querySelector('dialog[open]') || target.closest?.('input, textarea, select, [contenteditable], :popover-open') || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === '?') { event.preventDefault(); openKeys(); return }
    const pressed = first + event.key
    const command = commands().find(command => command.keys === pressed)
    first = ''
    if (command) { event.preventDefault(); command.act() }
    else if (commands().some(command => command.keys?.startsWith(event.key + ' '))) { first = event.key + ' '; setTimeout(() => { first = '' }, 1200) }
  })
}

/**
 * How well a text fits what was typed: the letters in their order, better at the begin of words.
 * @param {string} text @param {string} typed
 */
function score(text, typed) {
  const from = text.toLowerCase()
  if (!typed) return 1
  const at = from.indexOf(typed)
  if (at >= 0) return 100 - at - text.length / 100
  let position = -1, points = 0
  for (const letter of typed) {
    position = from.indexOf(letter, position + 1)
    if (position < 0) return 0
    points += position === 0 || from[position - 1] === ' ' ? 3 : 1
  }
  return points / text.length
}

export function openPalette() {
  if (document.querySelector('dialog.palette[open]')) return
  const all = commands()
  openDialog('Commands', close => {
    const list = h('div', { role: 'listbox', id: 'commands', 'aria-label': 'Commands' })
    /** @type {Command[]} */
    let shown = []
    let chosen = 0
    const input = h('input', { role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'commands', 'aria-autocomplete': 'list', 'aria-label': 'Command', placeholder: 'Type a command, a record type or a user', autofocus: true, autocomplete: 'off', spellcheck: 'false', oninput: () => { chosen = 0; draw() },
      onkeydown: event => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
        if (by) { event.preventDefault(); chosen = (chosen + by + shown.length) % Math.max(1, shown.length); draw() }
        if (event.key === 'Enter') { event.preventDefault(); run(shown[chosen]) }
      } })
    const run = command => { if (!command) return; close(); setTimeout(() => command.act()) }
    const draw = () => {
      const typed = input.value.trim().toLowerCase()
      shown = all.map(command => ({ command, points: score(command.text, typed) })).filter(item => item.points > 0).sort((a, b) => typed ? b.points - a.points : 0).slice(0, 60).map(item => item.command)
      fill(list, shown.length ? shown.map((command, index) => h('div', { role: 'option', id: `command-${index}`, 'aria-selected': String(index === chosen), onclick: () => run(command) }, command.icon && icon(command.icon), command.text, command.keys ? h('span', { class: 'note' }, command.keys.split(' ').map(key => [h('kbd', null, key), ' '])) : command.note && h('span', { class: 'note' }, command.note))) : h('div', { role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true', class: 'note' }, 'Nothing is called so.'))
      input.setAttribute('aria-activedescendant', `command-${chosen}`)
      list.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
    }
    draw()
    return [input, list]
  }, { kind: 'palette' })
}

export function openKeys() {
  const key = text => text.split(' ').map(part => [h('kbd', null, part), ' '])
  openDialog('Keys', () => h('dl', { class: 'keys' },
    [['Ctrl K', 'All commands'], ['Tab', 'To the next control'], ['↑ ↓ PageUp PageDown', 'In a table: to another row'], ['Enter', 'Open the row'], ['Space', 'Select the row; with Shift and arrows, several'], ['Alt ← →', 'On the head of a column: its width'], ['Ctrl S', 'Save what is edited'], ['Escape', 'Close, or leave the edit']].map(([keys, text]) => [h('dt', null, key(keys)), h('dd', null, text)]),
    commands().filter(command => command.keys).map(command => [h('dt', null, key(command.keys ?? '')), h('dd', null, command.text)])), { kind: '' })
}
