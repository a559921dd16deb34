// Notices of this browser, also while no page is open. Its push service gets an address for it, and its service worker shows the notices.
const pushOffer = document.querySelector('[data-push-key]');
const pushBox = pushOffer?.querySelector('input[name="push"]');
const pushRefused = pushOffer?.querySelector('[data-push-refused]');
const canPush = pushOffer && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

/** The only script that the policy allows. */
const createScriptURL = () => '/service-worker.js';
const scriptPolicy = canPush && window.trustedTypes?.createPolicy('service-worker', { createScriptURL });

async function tellPush(path, body) {
  const json = 'application/json';
  const headers = { accept: json, 'content-type': json, 'x-csrf-token': pushOffer.dataset.csrfToken };
  const answer = await fetch(`/push-subscriptions${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
}

/** Has the browser make a subscription for the present key of the service, and tells the service. It may know it already. */
async function subscribe() {
  await navigator.serviceWorker.register(scriptPolicy ? scriptPolicy.createScriptURL('') : createScriptURL());
  const { pushManager } = await navigator.serviceWorker.ready;
  const serverKey = pushOffer.dataset.pushKey;
  const make = () => pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: serverKey });
  const subscription = await make().catch(async () => {
    // It may have one for an earlier key.
    await (await pushManager.getSubscription())?.unsubscribe();
    return make();
  });
  await tellPush('', { ...subscription.toJSON(), serverKey });
  localStorage.setItem('push-of', pushOffer.dataset.pushOf);
  sessionStorage.setItem('push', serverKey);
}

/** Ends it in the browser first, so that it ends even if the service does not answer. */
async function unsubscribe() {
  const registration = await navigator.serviceWorker.getRegistration('/');
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  sessionStorage.removeItem('push');
  if (subscription) await tellPush('/revoke', { endpoint: subscription.endpoint });
}

function switchPushOff() {
  pushBox.checked = false;
  localStorage.setItem('push', 'off');
}

async function changePush() {
  pushRefused.hidden = true;
  if (!pushBox.checked) return unsubscribe();
  try {
    await Notification.requestPermission();
    await subscribe();
  } catch {
    pushRefused.hidden = false;
    switchPushOff();
  }
}

/** Another person may have signed in, the permission may be gone, or the service may have a new key. */
async function resumePush() {
  if (localStorage.getItem('push-of') !== pushOffer.dataset.pushOf || Notification.permission !== 'granted') {
    switchPushOff();
    return unsubscribe();
  }
  if (sessionStorage.getItem('push') !== pushOffer.dataset.pushKey) await subscribe();
}

/** The sign-out does not wait longer for it, in milliseconds. */
const PUSH_ENDS_MS = 2_000;

/** Ends the notices of this browser before the sign-out, which on a shared machine others follow. The next sign-in brings them back. */
async function signOutWithoutPush(event) {
  event.preventDefault();
  await Promise.race([unsubscribe().catch(() => {}), new Promise((resolve) => setTimeout(resolve, PUSH_ENDS_MS))]);
  event.target.submit();
}

if (canPush) {
  pushOffer.hidden = false;
  pushBox.addEventListener('change', () => changePush().catch(() => {}));
  // What fails is tried again by the next tab.
  if (pushBox.checked) resumePush().catch(() => {});
  document.querySelector('form[action="/sign-out"]')?.addEventListener('submit', (event) => {
    if (pushBox.checked) void signOutWithoutPush(event);
  });
}
