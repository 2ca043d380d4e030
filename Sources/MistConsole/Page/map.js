// Places on a grid of degrees, drawn here: no tile of a map is asked for anywhere.

import { svg } from './dom.js'

/**
 * A distance between lines that gives four to nine of them.
 * @param {number} span
 */
const stepOf = span => [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45].find(step => span / step <= 8) ?? 60

/** @param {number} value @param {string} positive @param {string} negative */
const degrees = (value, positive, negative) => `${Math.abs(Number(value.toFixed(3)))}°${value > 0 ? positive : value < 0 ? negative : ''}`

/**
 * @param {{ latitude: number, longitude: number }[]} places
 * @param {{ metres?: number, label?: string, world?: boolean }} [options] With `metres`, a circle around the first place.
 */
export function drawMap(places, options = {}) {
  const latitudes = places.map(place => place.latitude), longitudes = places.map(place => place.longitude)
  const reach = (options.metres ?? 0) / 111_000
  const spanOf = values => Math.max(...values) - Math.min(...values)
  const span = options.world ? 180 : Math.min(180, Math.max(12, spanOf(latitudes) * 1.5, spanOf(longitudes) * 0.75, reach * 3))
  const middle = values => (Math.max(...values) + Math.min(...values)) / 2
  const top = options.world ? 90 : Math.min(90, middle(latitudes) + span / 2), left = options.world ? -180 : Math.max(-180, Math.min(180 - span * 2, middle(longitudes) - span))
  const width = 240, height = 120, scale = height / span
  const x = longitude => (longitude - left) * scale, y = latitude => (top - latitude) * scale
  const step = stepOf(span), lines = [], texts = []
  for (let value = Math.ceil(left / step) * step; value <= left + span * 2; value += step) {
    lines.push(svg('path', { class: Math.abs(value) < 1e-9 ? 'axis' : 'grid', d: `M${x(value)} 0V${height}` }))
    if (x(value) > 8 && x(value) < width - 16) texts.push(svg('text', { x: x(value) + 1.5, y: height - 2 }, degrees(value, 'E', 'W')))
  }
  for (let value = Math.floor(top / step) * step; value >= top - span; value -= step) {
    lines.push(svg('path', { class: Math.abs(value) < 1e-9 ? 'axis' : 'grid', d: `M0 ${y(value)}H${width}` }))
    if (y(value) > 8 && y(value) < height - 8) texts.push(svg('text', { x: 2, y: y(value) - 1.5 }, degrees(value, 'N', 'S')))
  }
  const label = options.label ?? places.map(place => `${degrees(place.latitude, 'N', 'S')} ${degrees(place.longitude, 'E', 'W')}`).join('; ')
  return svg('svg', { class: 'map', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Map: ${label}` }, lines, texts,
    reach > 0 && svg('ellipse', { class: 'near', cx: x(longitudes[0]), cy: y(latitudes[0]), ry: reach * scale, rx: reach * scale / Math.max(0.1, Math.cos(latitudes[0] * Math.PI / 180)) }),
    places.map(place => svg('circle', { class: 'place', cx: x(place.longitude), cy: y(place.latitude), r: places.length > 20 ? 2 : 3.2 })))
}
