// Charts of requests, drawn as SVG.

import { h, svg } from './dom.js'

const width = 330, height = 120, left = 32, right = 8, top = 8, bottom = 18

/**
 * A round number that is not less than the greatest value.
 * @param {number} value
 */
function ceiling(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map(step => step * power).find(step => step >= value) ?? value
}

/** @param {number} value */
const short = value => value >= 1000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toFixed(value < 10 ? 1 : 0))

/**
 * Lines over time.
 * @param {{ title: string, unit: string, from: number, to: number, series: { name: string, points: [number, number | undefined][] }[], isArea?: boolean }} facts
 */
export function lineChart({ title, unit, from, to, series, isArea }) {
  const greatest = ceiling(Math.max(0, ...series.flatMap(line => line.points.map(point => point[1] ?? 0))))
  const x = time => left + (time - from) / (to - from) * (width - left - right), y = value => height - bottom - value / greatest * (height - top - bottom)
  const clock = time => new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(time)
  const paths = series.map((line, index) => {
    let path = '', isDown = false, last = 0
    for (const [time, value] of line.points) {
      if (value === undefined) { isDown = false; continue }
      path += `${isDown ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`
      isDown = true; last = x(time)
    }
    return [isArea && path && svg('path', { class: `area series-${index}`, d: `${path}L${last.toFixed(1)} ${y(0)}L${x(line.points[0][0]).toFixed(1)} ${y(0)}Z` }), svg('path', { class: `line series-${index}`, d: path || 'M0 0' }),
      line.points.map(([time, value], at) => value !== undefined && line.points[at - 1]?.[1] === undefined && line.points[at + 1]?.[1] === undefined && svg('circle', { class: `point series-${index}`, cx: x(time), cy: y(value), r: 1.8 }))]
  })
  const latest = series.map(line => `${line.name} ${short(line.points.filter(point => point[1] !== undefined).pop()?.[1] ?? 0)} ${unit}`).join(', ')
  return h('figure', { class: 'chart' }, h('figcaption', null, title, h('span', { class: 'note' }, ` ${unit}`), series.length > 1 && h('span', { class: 'legend' }, series.map((line, index) => h('span', { class: `key series-${index}` }, line.name)))),
    svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title} over the last hour: ${latest}` },
      [0, 0.5, 1].map(part => [svg('path', { class: 'grid', d: `M${left} ${y(greatest * part)}H${width - right}` }), svg('text', { x: left - 5, y: y(greatest * part) + 3, 'text-anchor': 'end' }, short(greatest * part))]),
      [0, 0.25, 0.5, 0.75, 1].map(part => svg('text', { x: x(from + (to - from) * part), y: height - 4, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle' }, clock(from + (to - from) * part))), paths))
}

/**
 * Bars with names.
 * @param {string} title @param {{ name: string, value: number, of: number }[]} bars
 */
export function barChart(title, bars) {
  const greatest = Math.max(1, ...bars.map(bar => bar.value)), row = 20, tall = Math.max(1, bars.length) * row + 6
  return h('figure', { class: 'chart' }, h('figcaption', null, title),
    bars.length ? svg('svg', { viewBox: `0 0 ${width} ${tall}`, role: 'img', 'aria-label': `${title}: ${bars.map(bar => `${bar.name} ${bar.value} of ${bar.of}`).join(', ')}` },
      bars.map((bar, index) => [svg('text', { x: 116, y: index * row + 14, 'text-anchor': 'end' }, bar.name.length > 22 ? bar.name.slice(0, 21) + '…' : bar.name), svg('rect', { class: 'bar', x: 122, y: index * row + 4, height: 12, rx: 2, width: Math.max(1, bar.value / greatest * 140) }), svg('text', { x: 128 + bar.value / greatest * 140, y: index * row + 14 }, `${bar.value} of ${bar.of}`)]))
      : h('p', { class: 'note' }, 'None.'))
}

/**
 * The value below which a part of the values is.
 * @param {number[]} sorted @param {number} part
 */
export const percentile = (sorted, part) => sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] : undefined
