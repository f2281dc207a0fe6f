"""Django's ORM: transactions, a bulk insert, expressions, a duplicate key inside atomic(), introspection."""
import os

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"], "CONN_MAX_AGE": 60}},
    USE_TZ=True)
django.setup()

from django.db import IntegrityError, connection, models, transaction  # noqa: E402


class Visit(models.Model):
    id = models.TextField(primary_key=True)
    who = models.TextField()
    n = models.IntegerField()

    class Meta:
        app_label = "proxy"
        db_table = "visits"


mine = Visit.objects.filter(who="django")
mine.delete()
with transaction.atomic():
    Visit.objects.bulk_create([Visit(id=f"django {n}", who="django", n=n) for n in range(10)])
visit = Visit.objects.get(pk="django 3")
visit.n += 100
visit.save()
mine.update(n=models.F("n") + 1)
assert mine.aggregate(sum=models.Sum("n"))["sum"] == 155
try:
    with transaction.atomic():
        mine.update(n=0)
        Visit.objects.create(id="django 0", who="django", n=0)
    raise SystemExit("a duplicate key was taken")
except IntegrityError:
    assert mine.aggregate(sum=models.Sum("n"))["sum"] == 155
with connection.cursor() as cursor:
    cursor.execute("set timezone to 'Asia/Tokyo'")
    cursor.execute("show timezone")
    assert cursor.fetchone() == ("Asia/Tokyo",)
    columns = connection.introspection.get_table_description(cursor, "visits")
assert [column.name for column in columns] == ["id", "who", "n"]
print("ok")
