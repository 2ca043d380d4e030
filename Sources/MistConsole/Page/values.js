// Field values by type: how they read in a cell, and how a person's text becomes one.

/** @typedef {import('./service.js').Field} Field */

/** The types that a field can have, and what a list of them is called. */
export const elementTypes = ['STRING', 'INT64', 'DOUBLE', 'TIMESTAMP', 'BYTES', 'REFERENCE', 'LOCATION', 'ASSETID']
export const fieldTypes = [...elementTypes, ...elementTypes.map(type => `${type}_LIST`)]

/** @param {string} type */
export const isList = type => type.endsWith('_LIST')
/** @param {string} type */
export const elementType = type => type === 'ASSET' ? 'ASSETID' : type.replace(/_LIST$/, '')

/**
 * The type of a field without one, from its value.
 * @param {any} value
 */
export function typeOf(value) {
  if (Array.isArray(value)) return value.length ? `${typeOf(value[0])}_LIST` : 'STRING_LIST'
  if (typeof value === 'bigint') return 'INT64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'INT64' : 'DOUBLE'
  if (typeof value === 'object' && value) {
    if ('latitude' in value) return 'LOCATION'
    if ('fileChecksum' in value) return 'ASSETID'
    if ('recordName' in value) return 'REFERENCE'
  }
  return 'STRING'
}

const local = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' })
const brief = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const number = new Intl.NumberFormat(undefined)

/** The zone of the reader, such as `Europe/Oslo`. */
export const readerZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** @param {number} time In milliseconds since 1970. */
export const localDate = time => Number.isFinite(new Date(time).getTime()) ? local.format(time) : String(time)
/** @param {number} time */
export const briefDate = time => Number.isFinite(new Date(time).getTime()) ? brief.format(time) : String(time)
/** @param {number} time */
export const utcDate = time => Number.isFinite(new Date(time).getTime()) ? new Date(time).toISOString().replace('.000Z', 'Z') : String(time)
/** @param {number} count */
export const count = count => number.format(count)

/**
 * How long ago a time was.
 * @param {number} time @param {number} [now]
 */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((time - now) / 1000)
  for (const [unit, length] of /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60]])) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit)
  }
  return Math.abs(seconds) < 5 ? 'now' : relative.format(seconds, 'second')
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes, index = -1
  do { value /= 1000; index++ } while (value >= 999.5 && index < units.length - 1)
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[index]}`
}

/** @param {string} text Base64. @returns {Uint8Array} */
export function bytesOf(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, character => character.charCodeAt(0))
}
/** @param {Uint8Array} bytes */
export function base64Of(bytes) {
  let text = ''
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192))
  return btoa(text)
}
/** @param {Uint8Array} bytes @param {number} [limit] */
export const hex = (bytes, limit = bytes.length) => Array.from(bytes.subarray(0, limit), byte => byte.toString(16).padStart(2, '0')).join(' ')

/**
 * How files of a kind begin.
 * @type {[string, number[], string?][]}
 */
const signatures = [
  ['PNG picture', [0x89, 0x50, 0x4e, 0x47], 'image/png'], ['JPEG picture', [0xff, 0xd8, 0xff], 'image/jpeg'], ['GIF picture', [0x47, 0x49, 0x46, 0x38], 'image/gif'],
  ['PDF document', [0x25, 0x50, 0x44, 0x46]], ['ZIP archive', [0x50, 0x4b, 3, 4]], ['gzip data', [0x1f, 0x8b]], ['SQLite database', [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65]],
  ['binary property list', [0x62, 0x70, 0x6c, 0x69, 0x73, 0x74]], ['LZFSE data', [0x62, 0x76, 0x78, 0x32]], ['TIFF picture', [0x49, 0x49, 0x2a, 0]],
]

/**
 * What bytes probably are.
 * @param {Uint8Array} bytes @returns {{ name: string, type?: string, text?: string }}
 */
export function guess(bytes) {
  for (const [name, start, type] of signatures) if (start.every((byte, index) => bytes[index] === byte)) return { name, type }
  if (bytes[0] === 0x52 && bytes[8] === 0x57 && bytes[9] === 0x45) return { name: 'WebP picture', type: 'image/webp' }
  if (bytes[4] === 0x66 && bytes[5] === 0x74 && bytes[6] === 0x79 && bytes[7] === 0x70) return { name: 'MPEG-4 or HEIC file' }
  if (bytes.length) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
      if (!/[\u0000-\u0008\u000e-\u001f]/.test(text)) return { name: parsed(text) === undefined ? 'UTF-8 text' : 'JSON', text }
    } catch { /* Not text. */ }
  }
  if (bytes.length === 16) return { name: 'a UUID or an MD5 digest' }
  if (bytes.length === 20) return { name: 'a SHA-1 digest' }
  if (bytes.length === 32) return { name: 'a SHA-256 digest or a key' }
  return { name: 'bytes' }
}

/**
 * The object or array that a text is in JSON.
 * @param {string} text
 */
export function parsed(text) {
  if (!/^\s*[[{]/.test(text)) return undefined
  try { return JSON.parse(text) } catch { return undefined }
}

/** @param {{ latitude: number, longitude: number }} place */
export const place = place => `${place.latitude}, ${place.longitude}`

/**
 * One value on a line, for a cell.
 * @param {any} value @param {string} type @returns {string}
 */
function line(value, type) {
  if (value === null || value === undefined) return ''
  switch (elementType(type)) {
    case 'TIMESTAMP': return briefDate(Number(value))
    case 'REFERENCE': return value.recordName ?? ''
    case 'LOCATION': return place(value)
    case 'ASSETID': return value.size === undefined ? 'file' : size(value.size)
    case 'BYTES': { const bytes = safeBytes(value); return bytes ? `${hex(bytes, 12)}${bytes.length > 12 ? ' …' : ''}` : String(value) }
    case 'DOUBLE': return String(value)
    default: return typeof value === 'object' ? JSON.stringify(value) : String(value)
  }
}

/** @param {string} text */
export function safeBytes(text) {
  try { return bytesOf(text) } catch { return undefined }
}

/**
 * A field on a line.
 * @param {Field | undefined} field @param {number} [limit] Characters.
 */
export function summary(field, limit = 160) {
  if (!field || field.value === null || field.value === undefined) return ''
  const type = field.type ?? typeOf(field.value)
  const text = Array.isArray(field.value) ? field.value.slice(0, 20).map(item => line(item, type)).join(' · ') : line(field.value, type)
  const flat = text.length > limit ? text.slice(0, limit) + '…' : text
  return flat.replace(/\s+/g, ' ')
}

/**
 * Reads one value as a person types it.
 * @param {string} text @param {string} type Of an element. @returns {any}
 * @throws {TypeError} Says which form is expected.
 */
export function readElement(text, type) {
  const trimmed = text.trim()
  const wrong = form => { throw new TypeError(`“${trimmed}” is not ${form}.`) }
  switch (type) {
    case 'INT64': {
      if (!/^[-+]?\d+$/.test(trimmed)) wrong('a whole number')
      const value = BigInt(trimmed)
      if (BigInt.asIntN(64, value) !== value) wrong('within 64 bits')
      return Number.isSafeInteger(Number(value)) ? Number(value) : value
    }
    case 'DOUBLE': return trimmed !== '' && Number.isFinite(Number(trimmed)) ? Number(trimmed) : wrong('a number')
    case 'TIMESTAMP': {
      if (/^-?\d{5,}$/.test(trimmed)) return Number(trimmed)
      const time = Date.parse(trimmed)
      return Number.isNaN(time) ? wrong('a date such as 2026-01-31T12:00:00Z, or milliseconds since 1970') : time
    }
    case 'BYTES':
      if (/^([0-9a-f]{2}(\s+|$))+$/i.test(trimmed) && trimmed.includes(' ')) return base64Of(Uint8Array.from(trimmed.split(/\s+/), pair => parseInt(pair, 16)))
      return safeBytes(trimmed) ? trimmed : wrong('base64, or pairs of hexadecimal digits with spaces')
    case 'REFERENCE': return trimmed ? { recordName: trimmed, action: 'NONE' } : wrong('the name of a record')
    case 'LOCATION': {
      const match = /^(-?\d+(?:\.\d+)?)\s*[,;]\s*(-?\d+(?:\.\d+)?)$/.exec(trimmed)
      const [latitude, longitude] = match ? [Number(match[1]), Number(match[2])] : [NaN, NaN]
      return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : wrong('latitude, longitude in degrees')
    }
    default: return text
  }
}

/**
 * A value as a person would type it.
 * @param {any} value @param {string} type Of an element.
 */
export function writeElement(value, type) {
  if (value === null || value === undefined) return ''
  switch (type) {
    case 'TIMESTAMP': return utcDate(Number(value))
    case 'REFERENCE': return value.recordName
    case 'LOCATION': return place(value)
    case 'ASSETID': return value.fileChecksum ?? ''
    default: return String(value)
  }
}

/**
 * Whether two values of fields are the same.
 * @param {any} left @param {any} right
 */
export function areEqual(left, right) {
  return stable(left) === stable(right)
}

/**
 * Files and references have members that the service adds; these do not make them different.
 * @param {any} value @returns {string}
 */
function stable(value) {
  if (Array.isArray(value)) return `[${value.map(stable)}]`
  if (value && typeof value === 'object') {
    if ('fileChecksum' in value) return `file ${value.fileChecksum}`
    return `{${Object.keys(value).filter(key => key !== 'zoneID').sort().map(key => `${key}:${stable(value[key])}`)}}`
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
