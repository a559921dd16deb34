/** jest requires this file, and Node's hooks see what is imported only. */
export default async () => (await import('./global-setup.ts')).default();
