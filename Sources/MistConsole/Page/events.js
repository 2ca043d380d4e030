// One stream of events from the emulator: requests, changes of zones, schemas, faults, users and snapshots. Without a stream the page works, but learns nothing by itself.

/** @typedef {{ container: string, environment: string, database: string, ownerRecordName?: string, zoneName: string, saved: string[], deleted: string[], isZoneDeleted: boolean, changes: number }} ZoneChange */

export const events = new EventTarget()
/** Whether the stream is open. */
export let isLive = false

export function listen() {
  const source = new EventSource('/_emulator/events')
  const announce = state => { isLive = state; events.dispatchEvent(new CustomEvent('live', { detail: state })) }
  source.onopen = () => announce(true)
  // The browser tries again by itself, unless the answer was not a stream.
  source.onerror = () => announce(false)
  for (const name of ['request', 'change', 'schema', 'faults', 'users', 'snapshots', 'restored']) {
    source.addEventListener(name, event => events.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(event.data) })))
  }
}

/**
 * Listens while an element is shown.
 * @param {string} name @param {Element} element @param {(detail: any) => void} act
 */
export function whileShown(name, element, act) {
  const listener = event => {
    if (element.isConnected) act(event.detail)
    else if (wasShown) events.removeEventListener(name, listener)
  }
  let wasShown = false
  requestAnimationFrame(() => { wasShown = true })
  events.addEventListener(name, listener)
}
